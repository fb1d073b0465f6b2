// `fetch` for those who may be silent for long. That of Node gives up after five minutes without headers, or without a further piece,
// and takes no other bound: a model that is computed on a small machine needs more. Its own agent is made once more, without these
// bounds; whoever asks has deadlines of its own (XC1).

import { endWhatIsOver } from '../../../libs/rest/standstill.ts';

/** What Node waits for by itself. */
const PATIENCE_MS = 300_000;
const dispatcherKey = Symbol.for('undici.globalDispatcher.1');

type MakeDispatcher = new (options: {
  readonly headersTimeout: number;
  readonly bodyTimeout: number;
}) => object;

let patient: typeof fetch | undefined;

/** Whoever asks may have stood still, and lost what it asks under: see libs/rest/standstill.ts. */
const lookedFetch: typeof fetch = (input, init) => {
  endWhatIsOver();
  return fetch(input, init);
};

/** One that waits for as long as `ms` at least, where this version of Node lets it. */
export function fetchFor(ms: number): typeof fetch {
  if (ms < PATIENCE_MS) return lookedFetch;
  patient ??= fetchWith(0);
  return patient;
}

/** `silenceMs` 0 is without a bound. */
export function fetchWith(silenceMs: number): typeof fetch {
  // Node makes its dispatcher at the first use.
  void fetch('data:,').catch(() => {});
  const used = (globalThis as Record<symbol, unknown>)[dispatcherKey] as object | undefined;
  const Dispatcher = used?.constructor as MakeDispatcher | undefined;
  if (Dispatcher === undefined) return lookedFetch;
  const dispatcher = new Dispatcher({ headersTimeout: silenceMs, bodyTimeout: silenceMs });
  return (input, init) => lookedFetch(input, { ...init, dispatcher } as RequestInit);
}
