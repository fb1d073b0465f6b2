// Writes a job for an agent as JSON in pieces. Large JSON is sent as it came, and not copied. A large text is written in
// slices, between which other work has its turn: to write some megabytes at once would hold up everybody's calls.

import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Job } from './handler.ts';

/** From here on a text is written in slices of so many characters: a millisecond or two. */
const SLICE_CHARS = 65_536;

type Pieces = readonly Uint8Array[];

const QUOTE = Buffer.from('"');
const NOTHING = new Uint8Array();

/** Rejects for a payload that can be parsed and is nested too deeply to be written. */
export async function jobJson(job: Job): Promise<Pieces> {
  const { payloadJson, payload, ...event } = job.event;
  const input = job.inputJson === undefined ? await largeText(job.input) : [job.inputJson];
  // What is no JSON is its own text.
  const isSame = input !== undefined && payload === job.input;
  const whole = payloadJson === undefined ? (isSame ? input : await largeText(payload)) : [payloadJson];
  // Nobody who sends an event can know it.
  const mark = randomUUID();
  const told = { ...job, input: input === undefined ? job.input : mark };
  const text = JSON.stringify(bodyOf(told, { ...event, payload: whole === undefined ? payload : mark }));
  const large = [input, whole].filter((pieces) => pieces !== undefined);
  const [first = '', ...others] = text.split(`"${mark}"`);
  return [
    Buffer.from(first),
    ...others.flatMap((part, at) => [...(large[at] ?? [NOTHING]), Buffer.from(part)]),
  ];
}

/** In this order: the input stands before the payload. */
function bodyOf(job: Job, event: Job['event']): object {
  const { input, command, parameters, trigger, agent, conversation, history, attempt } = job;
  return { input, command, parameters, event, trigger, agent, conversation, history, attempt };
}

/** Undefined for what is no text, or a small one. */
async function largeText(value: unknown): Promise<Pieces | undefined> {
  if (typeof value !== 'string' || value.length <= SLICE_CHARS) return undefined;
  const pieces: Uint8Array[] = [QUOTE];
  for (let at = 0; at < value.length; at += SLICE_CHARS) {
    if (at > 0) await nextTurn();
    // Half a pair of surrogates is written as an escape, and two of those read as the pair.
    pieces.push(Buffer.from(JSON.stringify(value.slice(at, at + SLICE_CHARS)).slice(1, -1)));
  }
  pieces.push(QUOTE);
  return pieces;
}
