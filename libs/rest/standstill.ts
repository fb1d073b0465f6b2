// A process may stand still and go on without a word of it: stopped, swapped out, starved. What it holds for a time only may be
// over then, and what runs first is not the timer that ends it but whatever was on its way: an answer, a connection, the rest of
// a function. So whoever is about to do something in the world looks first, and what is over ends before it is done.
//
// STL1  what is over by the clock has ended, and signals of what is done under it are aborted, when `endWhatIsOver` returns.
// STL2  it is looked once more right before a request is written: its connection may have taken long, and so may what leads there.
// Between the look and the call of the system the process may stand still all the same: that much nobody can close.

import { subscribe, unsubscribe } from 'node:diagnostics_channel';

const ends = new Set<() => void>();
/** Of the client behind `fetch`: the connection is there, and what is said next writes the request. */
const WRITING = 'undici:client:sendHeaders';

/** `end` looks at a clock, and ends what is over; it must not throw, and costs next to nothing. Gives the way to end that. */
export function onLook(end: () => void): () => void {
  // One of its own, so that the same function may be given twice.
  const own = () => end();
  if (ends.size === 0) subscribe(WRITING, endWhatIsOver);
  ends.add(own);
  return () => {
    if (ends.delete(own) && ends.size === 0) unsubscribe(WRITING, endWhatIsOver);
  };
}

/** To be called before anything leaves the process; the signal it is done under is to be asked after it. */
export function endWhatIsOver(): void {
  for (const end of ends) end();
}
