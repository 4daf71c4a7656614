/* Browsers start no workers for pages opened as files. This one runs the worker's script in a hidden
   frame instead, with as much of Worker as the search of mkdocs-material uses. */
(function () {
  if (location.protocol !== "file:") return;

  class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      this._ready = new Promise((resolve) => {
        addEventListener("message", (event) => {
          if (event.source !== frame.contentWindow) return;
          const message = new MessageEvent("message", { data: event.data });
          this.dispatchEvent(message);
          if (this.onmessage) this.onmessage(message);
        });
        frame.addEventListener("load", () => resolve(frame.contentWindow), { once: true });
      });
      // Scripts that a worker imports at once are added to the frame one after the other.
      const prelude = `
        var postMessage = (data) => parent.postMessage(data, "*");
        var importScripts = (...urls) => urls.reduce((before, url) => before.then(() =>
          new Promise((resolve, reject) => {
            const script = document.createElement("script");
            script.src = url; script.onload = resolve; script.onerror = reject;
            document.body.appendChild(script);
          })), Promise.resolve());`;
      const source = String(new URL(url, document.baseURI)).replace(/"/g, "%22");
      frame.srcdoc =
        `<body><script>${prelude}</` + `script><script src="${source}"></` + `script></body>`;
      const add = () => document.body.appendChild(frame);
      if (document.body) add();
      else addEventListener("DOMContentLoaded", add);
    }

    postMessage(data) {
      // The frame's own postMessage is replaced by the worker's, which leads back here.
      this._ready.then((frame) => postMessage.call(frame, data, "*"));
    }

    terminate() {}
  }

  window.Worker = FrameWorker;
})();
