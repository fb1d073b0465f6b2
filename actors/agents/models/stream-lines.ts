// Edits the data lines of an event stream. Other lines, and data that is not a JSON object, are unchanged.

import type { EventRepair } from './event-repair.ts';

/** Edits complete lines; the exchange limits their length (invariant XC1, exchange.ts). */
export function repairLines(repair: EventRepair): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let rest: string[] = [];
  return new TransformStream({
    transform(piece, controller) {
      const text = decoder.decode(piece, { stream: true });
      const end = text.lastIndexOf('\n') + 1;
      if (end === 0) {
        rest.push(text);
        return;
      }
      const lines = rest.join('') + text.slice(0, end);
      rest = [text.slice(end)];
      controller.enqueue(
        encoder.encode(lines.replace(/^data:.*$/gm, (line) => repairLine(withoutMark(line), repair))),
      );
    },
    flush(controller) {
      const last = rest.join('') + decoder.decode();
      if (last !== '') controller.enqueue(encoder.encode(last));
    },
  });
}

/** Removes a byte order mark, which some servers write before each JSON text. */
const withoutMark = (line: string) => line.replace(/^(data: ?)\ufeff/, '$1');

function repairLine(line: string, repair: EventRepair): string {
  const json = line.slice('data:'.length);
  if (!repair.mayConcern(json)) return line;
  let event: unknown;
  try {
    event = JSON.parse(json);
  } catch {
    return line;
  }
  if (typeof event !== 'object' || event === null || Array.isArray(event)) return line;
  const repaired = repair.repair(event as Readonly<Record<string, unknown>>);
  if (repaired === event) return line;
  return repaired === undefined ? '' : `data: ${JSON.stringify(repaired)}`;
}
