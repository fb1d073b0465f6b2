// Renders the path segments and query parameters in URL templates. Enforces invariant URL1 (url-template.ts).

import type { EvaluationBudget } from './evaluation-budget.ts';
import { type Expression, ExpressionError, type ExpressionFault, quoted } from './expression.ts';
import type { TemplatePart } from './template.ts';
import { percentEncoded } from './text-functions.ts';
import { findDotSegment } from './url-prefix.ts';

/** Path segment, query parameter, fragment, or scheme and host. */
interface UrlPart {
  /** Delimiter before the part: `/`, `?`, `&`, `#`; empty for scheme and host. */
  readonly delimiter: string;
  readonly pieces: TemplatePart['content'][];
}

/** Splits URL parts at literal delimiters. */
export function splitUrl(
  origin: string,
  parts: readonly TemplatePart[],
): readonly UrlPart[] | ExpressionFault {
  let urlPart: UrlPart = { delimiter: '', pieces: [origin] };
  const urlParts = [urlPart];
  let isQuery = false;
  for (const { content, at } of parts) {
    if (typeof content === 'object') {
      if (urlPart.delimiter === '#')
        return { message: 'follows #, which is not sent: write %23 to send a #', at };
      urlPart.pieces.push(content);
      continue;
    }
    // The first text begins with the origin, which is already in the first part.
    const text = at === 0 ? content.slice(origin.length) : content;
    for (const token of text.split(/([/?&#])/)) {
      const isDelimiter = token === '#' || (isQuery ? token === '&' : token === '/' || token === '?');
      if (isDelimiter && urlPart.delimiter !== '#') {
        isQuery ||= token === '?';
        urlPart = { delimiter: token, pieces: [] };
        urlParts.push(urlPart);
      } else if (token !== '') urlPart.pieces.push(token);
    }
  }
  // A template without expressions is a single part.
  const hasExpression = parts.length > 1;
  // The URL parser would resolve these segments, so the number of segments would change (URL1).
  const hasDotSegment =
    hasExpression &&
    urlParts.some((each) => isLiteral(each) && dotSegmentIn(each, literalOf(each)) !== undefined);
  return hasDotSegment ? { message: 'remove the segments . and .. from a path with {{ }}', at: 0 } : urlParts;
}

const isLiteral = ({ pieces }: UrlPart) => pieces.every((piece) => typeof piece === 'string');

const literalOf = ({ pieces }: UrlPart) => pieces.join('');

const dotSegmentIn = ({ delimiter }: UrlPart, text: string) =>
  delimiter === '/' ? findDotSegment(text) : undefined;

/** Renders a URL part. Throws ExpressionError for unsuitable values. */
export function renderPart(
  urlPart: UrlPart,
  values: Readonly<Record<string, unknown>>,
  budget: EvaluationBudget,
): string {
  if (isLiteral(urlPart)) return literalOf(urlPart);
  const text = urlPart.pieces
    .map((piece) => (typeof piece === 'string' ? piece : encodedValue(piece.evaluate(values, budget), piece)))
    .join('');
  const partName = urlPart.delimiter === '/' ? 'path segment' : 'query parameter';
  if (text === '') throw refusal(urlPart, `leaves a ${partName} empty: give it a value`);
  const dotSegment = dotSegmentIn(urlPart, text);
  // The segment may have path parameters after a semicolon (`..;v=1`). The message contains only the dots.
  if (dotSegment !== undefined)
    throw refusal(
      urlPart,
      `makes the path segment ${dotSegment.split(/;|%3b/i, 1)[0]}, which leads to another path: send it in the query`,
    );
  return text;
}

function encodedValue(value: unknown, expression: Expression): string {
  if (value === null || typeof value === 'object')
    throw new ExpressionError(
      `url: ${quoted(expression.text.trim())} is ${value === null ? 'null' : Array.isArray(value) ? 'a list' : 'a map'}; a url contains text, a number or a boolean`,
    );
  try {
    return percentEncoded(String(value));
  } catch (error) {
    throw new ExpressionError(`url: ${quoted(expression.text.trim())}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function refusal({ pieces }: UrlPart, message: string): ExpressionError {
  const names = pieces.flatMap((piece) => (typeof piece === 'string' ? [] : [quoted(piece.text.trim())]));
  return new ExpressionError(`url: ${names.join(' ')} ${message}`);
}
