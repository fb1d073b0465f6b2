// Path segments and query parameters with values (URL1).

import { type Expression, ExpressionError, type ExpressionFault, quoted } from './expression.ts';
import type { TemplatePart } from './template.ts';
import { percentEncoded } from './text-functions.ts';
import { findDotSegment } from './url-prefix.ts';

/** A path segment, a query parameter, the fragment, or the scheme and host. */
interface Place {
  /** Delimiter in front of it: `/`, `?`, `&`, `#`; empty for scheme and host. */
  readonly delimiter: string;
  readonly pieces: TemplatePart['content'][];
}

/** Splits url parts at literal delimiters. */
export function placesOf(origin: string, parts: readonly TemplatePart[]): readonly Place[] | ExpressionFault {
  let place: Place = { delimiter: '', pieces: [origin] };
  const places = [place];
  let isQuery = false;
  for (const { content, at } of parts) {
    if (typeof content === 'object') {
      if (place.delimiter === '#')
        return { message: 'stands behind #, which is not sent: write %23 to send a #', at };
      place.pieces.push(content);
      continue;
    }
    const text = at === 0 ? content.slice(origin.length) : content;
    for (const token of text.split(/([/?&#])/)) {
      const isDelimiter = token === '#' || (isQuery ? token === '&' : token === '/' || token === '?');
      if (isDelimiter && place.delimiter !== '#') {
        isQuery ||= token === '?';
        place = { delimiter: token, pieces: [] };
        places.push(place);
      } else if (token !== '') place.pieces.push(token);
    }
  }
  const isRewritten =
    parts.length > 1 && places.some((each) => isLiteral(each) && dotsIn(each, literalOf(each)) !== undefined);
  return isRewritten ? { message: 'remove the segments . and .. from a path with {{ }}', at: 0 } : places;
}

const isLiteral = ({ pieces }: Place) => pieces.every((piece) => typeof piece === 'string');

const literalOf = ({ pieces }: Place) => pieces.join('');

const dotsIn = ({ delimiter }: Place, text: string) => (delimiter === '/' ? findDotSegment(text) : undefined);

/** Renders one place. Throws ExpressionError for unsuitable values. */
export function placeText(place: Place, values: Readonly<Record<string, unknown>>): string {
  if (isLiteral(place)) return literalOf(place);
  const text = place.pieces
    .map((piece) => (typeof piece === 'string' ? piece : encodedValue(piece, values)))
    .join('');
  const what = place.delimiter === '/' ? 'path segment' : 'query parameter';
  if (text === '') throw refusal(place, `leaves a ${what} empty: give it a value`);
  const dots = dotsIn(place, text);
  if (dots !== undefined)
    throw refusal(
      place,
      `makes the path segment ${dots.split(/;|%3b/i, 1)[0]}, which leads to another path: send it in the query`,
    );
  return text;
}

function encodedValue(expression: Expression, values: Readonly<Record<string, unknown>>): string {
  const value = expression.evaluate(values);
  if (value === null || typeof value === 'object')
    throw new ExpressionError(
      `url: ${quoted(expression.text.trim())} is ${value === null ? 'null' : Array.isArray(value) ? 'a list' : 'a map'}; a url holds text, a number or a boolean`,
    );
  try {
    return percentEncoded(String(value));
  } catch (error) {
    throw new ExpressionError(`url: ${quoted(expression.text.trim())}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function refusal({ pieces }: Place, message: string): ExpressionError {
  const names = pieces.flatMap((piece) => (typeof piece === 'string' ? [] : [quoted(piece.text.trim())]));
  return new ExpressionError(`url: ${names.join(' ')} ${message}`);
}
