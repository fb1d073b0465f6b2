// Serialises jobs as JSON in pieces. Large JSON is sent as received, without a copy. Large text is serialised
// in slices that yield to the event loop: serialising megabytes in one step would delay other calls.

import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Job } from './handler.ts';

/** Slice size in characters: one or two milliseconds of work. Shorter texts are not sliced. */
const SLICE_CHARS = 65_536;

type Pieces = readonly Uint8Array[];

const QUOTE = Buffer.from('"');
const NOTHING = new Uint8Array();

/** Rejects for a payload with excessive nesting. */
export async function jobJson(job: Job): Promise<Pieces> {
  const { payloadJson, payload, ...event } = job.event;
  const input = job.inputJson === undefined ? await largeText(job.input) : [job.inputJson];
  // A payload that is not JSON equals the input text.
  const isSame = input !== undefined && payload === job.input;
  const payloadPieces =
    payloadJson === undefined ? (isSame ? input : await largeText(payload)) : [payloadJson];
  // Placeholder for the large texts. Random, so that no sender can guess it.
  const mark = randomUUID();
  const markedJob = { ...job, input: input === undefined ? job.input : mark };
  const text = JSON.stringify(
    bodyOf(markedJob, { ...event, payload: payloadPieces === undefined ? payload : mark }),
  );
  const largePieces = [input, payloadPieces].filter((pieces) => pieces !== undefined);
  const [first = '', ...others] = text.split(`"${mark}"`);
  return [
    Buffer.from(first),
    ...others.flatMap((part, at) => [...(largePieces[at] ?? [NOTHING]), Buffer.from(part)]),
  ];
}

/** The order of members matters: the input precedes the payload. */
function bodyOf(job: Job, event: Job['event']): object {
  const { input, command, parameters, message, trigger, agent, conversation, history, attempt } = job;
  return { input, command, parameters, event, message, trigger, agent, conversation, history, attempt };
}

/** Returns undefined for small texts and other values. */
async function largeText(value: unknown): Promise<Pieces | undefined> {
  if (typeof value !== 'string' || value.length <= SLICE_CHARS) return undefined;
  const pieces: Uint8Array[] = [QUOTE];
  for (let at = 0; at < value.length; at += SLICE_CHARS) {
    if (at > 0) await nextTurn();
    // A split surrogate pair becomes two escapes, which a parser reads as the pair.
    pieces.push(Buffer.from(JSON.stringify(value.slice(at, at + SLICE_CHARS)).slice(1, -1)));
  }
  pieces.push(QUOTE);
  return pieces;
}
