// URL templates, parsed when the file is loaded. Invariant, cited elsewhere by its tag:
//
// URL1  only literal text determines the scheme, host, port, number of path segments and number of query
//       parameters. Values are percent-encoded and stay within their segment, query key or query value.
//
// A URL from a single expression must start with an allowed prefix.

import { EvaluationBudget } from './evaluation-budget.ts';
import { type Expression, ExpressionError, type ExpressionFault, quoted } from './expression.ts';
import type { TemplatePart } from './template.ts';
import { renderPart, splitUrl } from './url-parts.ts';
import { hostFault, isAllowed } from './url-prefix.ts';

export interface UrlTemplate {
  /** False if a single expression returns the whole URL. */
  readonly hasLiteralHost: boolean;
  /** Throws ExpressionError. */
  render(values: Readonly<Record<string, unknown>>, budget?: EvaluationBudget): URL;
}

const ORIGIN = /^https?:\/\/[^/?#\\\s]+/i;
const LITERAL_HOST =
  'should begin with http:// or https:// and a host without {{ }}; or make the whole url one {{ }}, with url_allow';

/** Parses a trimmed URL. `allowed` lists the prefixes for a URL that is a single expression. */
export function urlTemplate(
  parts: readonly TemplatePart[],
  allowed: readonly URL[] | undefined,
): UrlTemplate | ExpressionFault {
  const [first] = parts;
  const nonScalar = parts.find(({ content }) => typeof content === 'object' && !isScalar(content.type));
  if (nonScalar !== undefined)
    return {
      message: `returns ${(nonScalar.content as Expression).type}; a url contains text, a number or a boolean`,
      at: nonScalar.at,
    };
  if (parts.length === 1 && typeof first?.content === 'object') return wholeUrl(first.content, allowed);
  const literal = typeof first?.content === 'string' ? first.content : '';
  const [origin = ''] = ORIGIN.exec(literal) ?? [];
  if (origin === '' || (origin === literal && parts.length > 1))
    return { message: LITERAL_HOST, at: origin === '' ? 0 : (parts[1]?.at ?? 0) };
  const fault = hostFault(origin) ?? literalFault(parts);
  if (fault !== undefined) return typeof fault === 'string' ? { message: fault, at: 0 } : fault;
  const urlParts = splitUrl(origin, parts);
  if ('message' in urlParts) return urlParts;
  return {
    hasLiteralHost: true,
    render: (values, budget = new EvaluationBudget()) =>
      new URL(urlParts.map((urlPart) => urlPart.delimiter + renderPart(urlPart, values, budget)).join('')),
  };
}

/** Returns a template in place of an invalid URL: the flow can be loaded, but rendering the URL throws. */
export function failingUrl(message: string): UrlTemplate {
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
        'can lead to any host: list allowed prefixes, as url_allow: [https://api.example.com/], or write the host in the url',
      at: 0,
    };
  return {
    hasLiteralHost: false,
    render: (values, budget) => {
      const value = expression.evaluate(values, budget);
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

/**
 * Detects literal text that the URL parser would change, or that an adjacent value would give another
 * meaning.
 */
function literalFault(parts: readonly TemplatePart[]): ExpressionFault | undefined {
  for (const [index, { content, at }] of parts.entries()) {
    if (typeof content !== 'string') continue;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the parser drops tabs and line breaks.
    const rewritten = content.search(/[\\\x00-\x1f]/);
    if (rewritten !== -1)
      return { message: 'remove backslashes, tabs and line breaks from the url', at: at + rewritten };
    if (index + 1 < parts.length && /%[0-9a-f]?$/i.test(content))
      return {
        message: '% before {{ }} starts an escape sequence: write %25',
        at: at + content.lastIndexOf('%'),
      };
  }
  return undefined;
}
