// Texts of the repository host server: parts of long texts, the next page in `Link` headers, and the removal
// of the access token from everything that leaves the server.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { plainJson, secretRemover } from '../../../libs/rest/without-secrets.ts';
import { nextPageOf } from '../../../tool-servers/repository-host/next-page.ts';
import {
  cleanRequestNames,
  outboundCleanerOf,
  withRedaction,
} from '../../../tool-servers/repository-host/redaction.ts';
import { MAX_TEXT_CHARS, textPage } from '../../../tool-servers/repository-host/text-page.ts';
import type { ServerTool, ServerToolCall } from '../../../tool-servers/tool.ts';
import { ToolError } from '../../../tool-servers/tool-error.ts';

describe('a long text', () => {
  // Short and long lines, and characters of several code units.
  const piece = fc.oneof(
    fc.constantFrom('\n', '\r\n', '👩‍🚀', 'x'.repeat(MAX_TEXT_CHARS - 1), 'y'.repeat(30_000)),
    fc.string({ unit: 'grapheme' }),
  );

  test('equals its joined parts, and no part exceeds the limit', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = pieces.join('');
        let joined = '';
        for (let offset: number | undefined = 0; offset !== undefined; ) {
          const part = textPage(text, offset);
          expect(part.totalChars).toBe(text.length);
          expect(part.text.length).toBeLessThanOrEqual(MAX_TEXT_CHARS);
          // No boundary of a part is within a surrogate pair.
          expect(/^[\udc00-\udfff]|[\ud800-\udbff]$/.test(part.text)).toBe(false);
          if (part.nextOffset !== undefined) expect(part.nextOffset).toBeGreaterThan(offset);
          joined += part.text;
          offset = part.nextOffset;
        }
        expect(joined).toBe(text);
      }),
    );
  });

  test('is split at line ends if it has several lines', () => {
    const { text, nextOffset } = textPage(`${'line\n'.repeat(30_000)}`, 0);
    expect(text.endsWith('\n')).toBe(true);
    expect(nextOffset).toBe(text.length);
  });

  test('has no further part after the last', () => {
    expect(textPage('abc', 99)).toEqual({ text: '', nextOffset: undefined, totalChars: 3 });
  });
});

describe('the next page in a Link header', () => {
  test('is the number in the link with rel="next"', () => {
    const link =
      '<https://h/x?page=1>; rel="prev", <https://h/x?per_page=5&page=3&q=a>; rel="next", <https://h/x?page=9>; rel="last"';
    expect(nextPageOf(link, 2)).toBe(3);
    expect(nextPageOf('<https://h/x?after=abc>; rel=next', 2)).toBe(3);
  });

  test('is undefined without such a link', () => {
    for (const link of [undefined, '', '<https://h/x?page=1>; rel="first"', 'rel="next"'])
      expect(nextPageOf(link, 1)).toBeUndefined();
  });

  test('is never the current or an earlier page, for any content of the header', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 999 }), (noise, page) => {
        for (const link of [noise, `<https://h/?page=${noise}>; rel="next"`, `<${noise}>; rel="next"`]) {
          const next = nextPageOf(link, page);
          if (next !== undefined) expect(next).toBeGreaterThan(page);
        }
      }),
    );
  });
});

describe('the access token of the repository host', () => {
  const secret = 'tok_0123456789';
  const call: ServerToolCall = { signal: new AbortController().signal, report: () => {} };
  /** Returns a tool whose answers and errors contain no token. */
  const redactedTool = (run: ServerTool['run']): ServerTool =>
    withRedaction({ name: 't', run } as unknown as ServerTool, secretRemover([secret]));

  test('is removed from text and structured content, wherever it occurs', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.string(), async (value, around) => {
        const secrets = {
          [`k${around}`]: value,
          list: [`${around}${secret}${around}`, { deep: secret + secret }],
        };
        const tool = redactedTool(async () => ({ text: JSON.stringify(secrets), structured: secrets }));
        const answer = await tool.run({}, call);
        expect(JSON.stringify(answer)).not.toContain(secret);
        expect((answer.structured as typeof secrets)[`k${around}`]).toEqual(value);
      }),
    );
  });

  test.each(['tok/012+345=6789', 'tok"012\\345\\\\67', 'tok%2F012%345'])(
    'is recognized as encoded in JSON and URLs: %s',
    (specialToken) => {
      const clean = secretRemover([specialToken]);
      const asJson = JSON.stringify({ a: specialToken });
      for (const encodedToken of [
        specialToken,
        asJson,
        asJson.replaceAll('/', '\\/'),
        encodeURIComponent(specialToken),
        encodeURI(specialToken),
      ])
        expect(clean(`<${encodedToken}>`)).toContain('[token removed]');
    },
  );

  test('is removed from the names of tools and arguments in a request', () => {
    const message = {
      jsonrpc: '2.0' as const,
      id: 1,
      method: 'tools/call',
      params: { name: secret, arguments: { [secret]: 1, files: [{ [secret]: secret }] } },
    };
    expect(cleanRequestNames(message, secretRemover([secret]))).toEqual({
      ...message,
      params: {
        name: '[token removed]',
        // Values belong to the caller.
        arguments: { '[token removed]': 1, files: [{ '[token removed]': secret }] },
      },
    });
  });

  test('is searched in the names of arguments of any depth without a stack overflow', () => {
    let deep: unknown = secret;
    for (let depth = 0; depth < 200_000; depth++) deep = [deep];
    const params = { name: 'x', arguments: { a: deep } };
    const message = { jsonrpc: '2.0' as const, id: 1, method: 'tools/call', params };
    expect(() => cleanRequestNames(message, secretRemover([secret]))).not.toThrow();
  });

  test('is recognized in any JSON notation', () => {
    /** Returns all forms of a character in a JSON string. */
    const jsonFormsOf = (character: string) => {
      const hex = character.charCodeAt(0).toString(16).padStart(4, '0');
      const shortEscapes = '/"\\'.includes(character) ? [`\\${character}`] : [];
      const literals = '"\\'.includes(character) ? [] : [character];
      return [...literals, ...shortEscapes, `\\u${hex}`, `\\u${hex.toUpperCase()}`];
    };
    const specialToken = 'tok/01"2\\3+4:5';
    const encoded = fc
      .tuple(...[...specialToken].map((character) => fc.constantFrom(...jsonFormsOf(character))))
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(encoded, fc.string(), (encodedToken, around) => {
        const before = JSON.stringify(around).slice(1, -1);
        const text = `{"a":"${before}${encodedToken}${before}"}`;
        expect(JSON.parse(text)).toEqual({ a: `${around}${specialToken}${around}` });
        expect(JSON.parse(secretRemover([specialToken])(plainJson(text)))).toEqual({
          a: `${around}[token removed]${around}`,
        });
      }),
    );
  });

  test('is searched in normalised JSON (plainJson) that parses to the same value', () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: 'binary' }), (text) => {
        expect(JSON.parse(plainJson(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  test('is recognized in base64 within outgoing texts', () => {
    const clean = outboundCleanerOf(secret);
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, after) => {
        const bytes = Buffer.from(`${before}${secret}${after}`);
        for (const form of ['base64', 'base64url'] as const)
          expect(clean(bytes.toString(form))).toContain('[token removed]');
      }),
    );
  });

  test('that is not set removes no text', () => {
    expect(secretRemover([])('abc')).toBe('abc');
  });

  test('is in no reported or logged error', async () => {
    const failing = redactedTool(async () => {
      throw new ToolError(`The host refused ${secret}.`);
    });
    await expect(failing.run({}, call)).rejects.toThrow(new ToolError('The host refused [token removed].'));
    const unexpected = redactedTool(async () => {
      throw Object.assign(new Error(`bad ${secret}`), { request: { headers: { authorization: secret } } });
    });
    const error = await unexpected.run({}, call).catch((each: unknown) => each);
    expect(error).toBeInstanceOf(Error);
    expect(`${(error as Error).stack}${JSON.stringify(error)}`).not.toContain(secret);
    expect(Object.keys(error as object)).toEqual([]);
  });
});
