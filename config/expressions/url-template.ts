// Url templates, parsed when the file is loaded, before any value is known.
//
// URL1  literal text alone decides the scheme, the host, the port, the number of path segments and the number of query parameters.
//       Values are percent-encoded, and cannot break out of their segment, query key or query value.
// URL2  a url from a single expression starts with an allowed prefix.

import { type Expression, ExpressionError, type ExpressionFault, quoted } from './expression.ts';
import type { TemplatePart } from './template.ts';
import { placesOf, placeText } from './url-places.ts';
import { hostFault, isAllowed } from './url-prefix.ts';

export interface UrlTemplate {
  /** False if one expression returns the whole url. */
  readonly hasLiteralHost: boolean;
  /** Throws ExpressionError. */
  render(values: Readonly<Record<string, unknown>>): URL;
}

const ORIGIN = /^https?:\/\/[^/?#\\\s]+/i;
const LITERAL_HOST =
  'should begin with http:// or https:// and a host without {{ }}; or make the whole url one {{ }}, with url_allow';

/** Parses a trimmed url; `allowed` limits single expressions. */
export function urlTemplate(
  parts: readonly TemplatePart[],
  allowed: readonly URL[] | undefined,
): UrlTemplate | ExpressionFault {
  const [first] = parts;
  const untyped = parts.find(({ content }) => typeof content === 'object' && !isScalar(content.type));
  if (untyped !== undefined)
    return {
      message: `gives ${(untyped.content as Expression).type}; a url holds text, a number or a boolean`,
      at: untyped.at,
    };
  if (parts.length === 1 && typeof first?.content === 'object') return wholeUrl(first.content, allowed);
  const literal = typeof first?.content === 'string' ? first.content : '';
  const [origin = ''] = ORIGIN.exec(literal) ?? [];
  if (origin === '' || (origin === literal && parts.length > 1))
    return { message: LITERAL_HOST, at: origin === '' ? 0 : (parts[1]?.at ?? 0) };
  const fault = hostFault(origin) ?? literalFault(parts);
  if (fault !== undefined) return typeof fault === 'string' ? { message: fault, at: 0 } : fault;
  const places = placesOf(origin, parts);
  if ('message' in places) return places;
  return {
    hasLiteralHost: true,
    render: (values) => new URL(places.map((place) => place.delimiter + placeText(place, values)).join('')),
  };
}

/** Replaces a faulty url: rendering always throws. */
export function refusingUrl(message: string): UrlTemplate {
  return {
    hasLiteralHost: false,
    render: () => {
      throw new ExpressionError(`url: ${message}`);
    },
  };
}

const isScalar = (type: string) => !/^(?:list|map|null)/.test(type);

function wholeUrl(
  expression: Expression,
  allowed: readonly URL[] | undefined,
): UrlTemplate | ExpressionFault {
  if (allowed === undefined)
    return {
      message:
        'could lead to any host: list allowed prefixes, as url_allow: [https://api.example.com/], or write the host in the url',
      at: 0,
    };
  return {
    hasLiteralHost: false,
    render: (values) => {
      const value = expression.evaluate(values);
      const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
      const fault = url === undefined ? 'is not a url' : hostFault(url.href);
      if (url === undefined || fault !== undefined)
        throw new ExpressionError(`url: ${quoted(expression.text.trim())} ${fault}`);
      if (isAllowed(url, allowed)) return url;
      throw new ExpressionError(
        `url: ${quoted(expression.text.trim())} leads to ${url.origin}, outside the prefixes in url_allow`,
      );
    },
  };
}

/** Literal text that the URL parser rewrites, or whose meaning an adjacent value would change. */
function literalFault(parts: readonly TemplatePart[]): ExpressionFault | undefined {
  for (const [index, { content, at }] of parts.entries()) {
    if (typeof content !== 'string') continue;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the parser drops tabs and line breaks.
    const rewritten = content.search(/[\\\x00-\x1f]/);
    if (rewritten !== -1)
      return { message: 'remove backslashes, tabs and line breaks from the url', at: at + rewritten };
    if (index + 1 < parts.length && /%[0-9a-f]?$/i.test(content))
      return {
        message: '% in front of {{ }} would begin an escape: write %25',
        at: at + content.lastIndexOf('%'),
      };
  }
  return undefined;
}
