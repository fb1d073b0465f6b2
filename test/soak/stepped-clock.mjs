// Loaded into the gateway before its program, and into its worker threads: the wall clock is off by what stands in a file, so
// that the soak can set it forward and back while the gateway runs. performance.now() and timers go on as they are, as on
// a machine whose clock is set.

import { readFileSync } from 'node:fs';

const file = process.env.SOAK_CLOCK_FILE;
const RealDate = Date;
const realNow = Date.now;
let offsetMs = 0;

function look() {
  try {
    const read = Number(readFileSync(file, 'utf8'));
    if (Number.isFinite(read)) offsetMs = read;
  } catch {
    // It is being written.
  }
}

look();
setInterval(look, 100).unref();

globalThis.Date = class extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now());
    else super(...given);
  }
};
RealDate.now = () => realNow() + offsetMs;
