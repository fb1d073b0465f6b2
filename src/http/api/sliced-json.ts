// Writes large JSON in slices, between which other requests continue: the records of ten thousand servers
// take over 100 ms. The output is the same as of JSON.stringify.

import { WorkTurns } from '../../../actors/base/time/work-turns.ts';

/** List whose items are created while they are written. */
class LazyList<Item> {
  readonly items: Iterable<Item>;

  constructor(items: Iterable<Item>) {
    this.items = items;
  }
}

/** Record whose members are created while they are written. */
class LazyRecord<Value> {
  readonly members: Iterable<readonly [name: string, value: Value]>;

  constructor(members: Iterable<readonly [name: string, value: Value]>) {
    this.members = members;
  }
}

export function lazyList<Source, Item>(
  sources: Iterable<Source>,
  itemOf: (source: Source) => Item,
): LazyList<Item> {
  return new LazyList(mapEach(sources, itemOf));
}

/** The names must be distinct. */
export function lazyRecord<Source, Value>(
  sources: Iterable<Source>,
  memberOf: (source: Source) => readonly [name: string, value: Value],
): LazyRecord<Value> {
  return new LazyRecord(mapEach(sources, memberOf));
}

function* mapEach<Source, Result>(
  sources: Iterable<Source>,
  resultOf: (source: Source) => Result,
): Generator<Result, void> {
  for (const source of sources) yield resultOf(source);
}

type Lazy<Value> = Value extends readonly (infer Item)[]
  ? LazyList<Item>
  : Value extends Readonly<Record<string, infer Member>>
    ? LazyRecord<Member>
    : never;

/** Body of a response, whose lists and records may be lazy. */
export type LazyBody<Body> = { readonly [Name in keyof Body]: Body[Name] | Lazy<NonNullable<Body[Name]>> };

/** Duration of a slice. */
const SLICE_MS = 5;

export class SlicedJson {
  /** One slice of all responses per turn of the event loop. */
  readonly #turns = new WorkTurns();

  /** Returns the JSON in pieces. `isCancelled` ends it early. Rejects if creating a record throws. */
  async write(body: object, isCancelled: () => boolean = () => false): Promise<readonly Uint8Array[]> {
    const pieces: Uint8Array[] = [];
    const texts = textsOf(body);
    for (let isDone = false; !isDone && !isCancelled(); )
      isDone = await this.#turns.run(() => writeSlice(texts, pieces));
    return pieces;
  }
}

/** Returns true after the last slice. */
function writeSlice(texts: Iterator<string>, pieces: Uint8Array[]): boolean {
  const endsAt = performance.now() + SLICE_MS;
  let text = '';
  for (;;) {
    const { value, done = false } = texts.next();
    if (!done) text += value;
    if (!done && performance.now() < endsAt) continue;
    pieces.push(Buffer.from(text));
    return done;
  }
}

function* textsOf(body: object): Generator<string, void> {
  let separator = '{';
  for (const [name, value] of Object.entries(body)) {
    if (value === undefined) continue;
    yield `${separator}${JSON.stringify(name)}:`;
    separator = ',';
    if (value instanceof LazyList) yield* listTexts(value.items);
    else if (value instanceof LazyRecord) yield* recordTexts(value.members);
    else if (Array.isArray(value)) yield* listTexts(value);
    else yield JSON.stringify(value);
  }
  yield separator === '{' ? '{}' : '}';
}

function* listTexts(items: Iterable<unknown>): Generator<string, void> {
  let separator = '[';
  for (const item of items) {
    yield separator + (JSON.stringify(item) ?? 'null');
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

function* recordTexts(members: Iterable<readonly [string, unknown]>): Generator<string, void> {
  let separator = '{';
  for (const [name, value] of members) {
    yield `${separator}${JSON.stringify(name)}:${JSON.stringify(value)}`;
    separator = ',';
  }
  yield separator === '{' ? '{}' : '}';
}
