// Where a sequence stands in another, in time proportional to their lengths together (Knuth, Morris and Pratt): texts and
// what is looked for in them come from a model, and the search that the language has takes half a minute for some texts
// of ten thousand characters. Places may overlap.

/** Up to here the language's own search is quick whatever it is given. */
const SHORT_CHARS = 250;

/** The first `limit` places where `wanted`, which is not empty, stands in `text`. */
export function placesOf(text: string, wanted: string, limit: number): number[] {
  if (wanted.length > SHORT_CHARS)
    return search(
      text.length,
      wanted.length,
      limit,
      (at, inWanted) => text.charCodeAt(at) === wanted.charCodeAt(inWanted),
      (one, other) => wanted.charCodeAt(one) === wanted.charCodeAt(other),
    );
  const places: number[] = [];
  for (let at = text.indexOf(wanted); at >= 0 && places.length < limit; at = text.indexOf(wanted, at + 1))
    places.push(at);
  return places;
}

/** The first place where `wanted`, which is not empty, stands in `lines` as whole lines one after the other. */
export function placeOfLines(lines: readonly string[], wanted: readonly string[]): number | undefined {
  return search(
    lines.length,
    wanted.length,
    1,
    (at, inWanted) => lines[at] === wanted[inWanted],
    (one, other) => wanted[one] === wanted[other],
  )[0];
}

function search(
  length: number,
  wantedLength: number,
  limit: number,
  fits: (at: number, inWanted: number) => boolean,
  isRepeated: (one: number, other: number) => boolean,
): number[] {
  /** How much of the beginning of what is wanted ends at each of its places, too. */
  const borders = new Int32Array(wantedLength);
  for (let at = 1, fitting = 0; at < wantedLength; at++) {
    while (fitting > 0 && !isRepeated(at, fitting)) fitting = borders[fitting - 1] ?? 0;
    if (isRepeated(at, fitting)) fitting++;
    borders[at] = fitting;
  }
  const places: number[] = [];
  for (let at = 0, fitting = 0; at < length && places.length < limit; at++) {
    while (fitting > 0 && !fits(at, fitting)) fitting = borders[fitting - 1] ?? 0;
    if (fits(at, fitting)) fitting++;
    if (fitting < wantedLength) continue;
    places.push(at - wantedLength + 1);
    fitting = borders[fitting - 1] ?? 0;
  }
  return places;
}
