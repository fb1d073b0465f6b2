// Preloaded into the gateway and its worker threads: shifts the wall clock by the offset in a file, which the
// soak changes during operation. performance.now() and timers are not affected, as on a machine with a
// changed clock.

import { readFileSync } from 'node:fs';

const file = process.env.SOAK_CLOCK_FILE;
const RealDate = Date;
const realNow = Date.now;
let offsetMs = 0;

function readOffset() {
  try {
    const read = Number(readFileSync(file, 'utf8'));
    if (Number.isFinite(read)) offsetMs = read;
  } catch {
    // The file is being replaced.
  }
}

readOffset();
setInterval(readOffset, 100).unref();

globalThis.Date = class extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(RealDate.now());
    else super(...args);
  }
};
RealDate.now = () => realNow() + offsetMs;
