"""Files -> uint8 frames: decoders, damage checks, alignment and the window loader."""
