import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { plainJson, without } from '../../../libs/rest/without-secrets.ts';
import { nextPageOf } from '../../../tool-servers/repository-host/next-page.ts';
import {
  redacted,
  thoroughCleanerOf,
  withCleanNames,
} from '../../../tool-servers/repository-host/redaction.ts';
import { MAX_TEXT_CHARS, textPage } from '../../../tool-servers/repository-host/text-page.ts';
import type { Tool, ToolCall } from '../../../tool-servers/tool.ts';
import { ToolError } from '../../../tool-servers/tool-error.ts';

describe('a long text', () => {
  const piece = fc.oneof(
    fc.constantFrom('\n', '\r\n', '👩‍🚀', 'x'.repeat(MAX_TEXT_CHARS - 1), 'y'.repeat(30_000)),
    fc.string({ unit: 'grapheme' }),
  );

  test('is whole again when its parts are put together, and no part is longer than it may be', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = pieces.join('');
        let together = '';
        for (let offset: number | undefined = 0; offset !== undefined; ) {
          const part = textPage(text, offset);
          expect(part.totalChars).toBe(text.length);
          expect(part.text.length).toBeLessThanOrEqual(MAX_TEXT_CHARS);
          expect(/^[\udc00-\udfff]|[\ud800-\udbff]$/.test(part.text)).toBe(false);
          if (part.nextOffset !== undefined) expect(part.nextOffset).toBeGreaterThan(offset);
          together += part.text;
          offset = part.nextOffset;
        }
        expect(together).toBe(text);
      }),
    );
  });

  test('is parted at the ends of lines where it has any', () => {
    const { text, nextOffset } = textPage(`${'line\n'.repeat(30_000)}`, 0);
    expect(text.endsWith('\n')).toBe(true);
    expect(nextOffset).toBe(text.length);
  });

  test('has nothing behind its end', () => {
    expect(textPage('abc', 99)).toEqual({ text: '', nextOffset: undefined, totalChars: 3 });
  });
});

describe('the next page', () => {
  test('is the number in the link whose relation is next', () => {
    const link =
      '<https://h/x?page=1>; rel="prev", <https://h/x?per_page=5&page=3&q=a>; rel="next", <https://h/x?page=9>; rel="last"';
    expect(nextPageOf(link, 2)).toBe(3);
    expect(nextPageOf('<https://h/x?after=abc>; rel=next', 2)).toBe(3);
  });

  test('is none where no link says so', () => {
    for (const link of [undefined, '', '<https://h/x?page=1>; rel="first"', 'rel="next"'])
      expect(nextPageOf(link, 1)).toBeUndefined();
  });

  test('never leads back, whatever the link says', () => {
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

describe('the token', () => {
  const secret = 'tok_0123456789';
  const call: ToolCall = { signal: new AbortController().signal, report: () => {} };
  const tool = (run: Tool['run']): Tool => redacted({ name: 't', run } as unknown as Tool, without([secret]));

  test('is in no text and no structured content, wherever the host put it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.string(), async (value, around) => {
        const held = {
          [`k${around}`]: value,
          list: [`${around}${secret}${around}`, { deep: secret + secret }],
        };
        const answer = await tool(async () => ({ text: JSON.stringify(held), structured: held })).run(
          {},
          call,
        );
        expect(JSON.stringify(answer)).not.toContain(secret);
        expect((answer.structured as typeof held)[`k${around}`]).toEqual(value);
      }),
    );
  });

  test.each(['tok/012+345=6789', 'tok"012\\345\\\\67', 'tok%2F012%345'])(
    'is found as JSON and addresses write it: %s',
    (odd) => {
      const clean = without([odd]);
      const asJson = JSON.stringify({ a: odd });
      for (const written of [
        odd,
        asJson,
        asJson.replaceAll('/', '\\/'),
        encodeURIComponent(odd),
        encodeURI(odd),
      ])
        expect(clean(`<${written}>`)).toContain('[token removed]');
    },
  );

  test('is not repeated as the name of a tool or of an argument', () => {
    const message = {
      jsonrpc: '2.0' as const,
      id: 1,
      method: 'tools/call',
      params: { name: secret, arguments: { [secret]: 1, files: [{ [secret]: secret }] } },
    };
    expect(withCleanNames(message, without([secret]))).toEqual({
      ...message,
      params: {
        name: '[token removed]',
        // Values are the caller's own affair.
        arguments: { '[token removed]': 1, files: [{ '[token removed]': secret }] },
      },
    });
  });

  test('is looked for in names as deep as any parameter is, however deep the arguments are', () => {
    let deep: unknown = secret;
    for (let depth = 0; depth < 200_000; depth++) deep = [deep];
    const params = { name: 'x', arguments: { a: deep } };
    const message = { jsonrpc: '2.0' as const, id: 1, method: 'tools/call', params };
    expect(() => withCleanNames(message, without([secret]))).not.toThrow();
  });

  test('is found however JSON spells its characters', () => {
    const spellings = (character: string) => {
      const hex = character.charCodeAt(0).toString(16).padStart(4, '0');
      const short = '/"\\'.includes(character) ? [`\\${character}`] : [];
      const bare = '"\\'.includes(character) ? [] : [character];
      return [...bare, ...short, `\\u${hex}`, `\\u${hex.toUpperCase()}`];
    };
    const odd = 'tok/01"2\\3+4:5';
    const spelled = fc
      .tuple(...[...odd].map((character) => fc.constantFrom(...spellings(character))))
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(spelled, fc.string(), (written, around) => {
        const before = JSON.stringify(around).slice(1, -1);
        const text = `{"a":"${before}${written}${before}"}`;
        expect(JSON.parse(text)).toEqual({ a: `${around}${odd}${around}` });
        expect(JSON.parse(without([odd])(plainJson(text)))).toEqual({
          a: `${around}[token removed]${around}`,
        });
      }),
    );
  });

  test('JSON in its plain spelling says the same', () => {
    fc.assert(
      fc.property(fc.json({ stringUnit: 'binary' }), (text) => {
        expect(JSON.parse(plainJson(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  test('is found in base64 in texts that go out, whatever stands around it', () => {
    const clean = thoroughCleanerOf(secret);
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, behind) => {
        const bytes = Buffer.from(`${before}${secret}${behind}`);
        for (const form of ['base64', 'base64url'] as const)
          expect(clean(bytes.toString(form))).toContain('[token removed]');
      }),
    );
  });

  test('that is missing changes nothing', () => {
    expect(without([])('abc')).toBe('abc');
  });

  test('is in no error that is told, and in no error that is logged', async () => {
    const said = tool(async () => {
      throw new ToolError(`The host said ${secret}.`);
    });
    await expect(said.run({}, call)).rejects.toThrow(new ToolError('The host said [token removed].'));
    const unexpected = tool(async () => {
      throw Object.assign(new Error(`bad ${secret}`), { request: { headers: { authorization: secret } } });
    });
    const error = await unexpected.run({}, call).catch((each: unknown) => each);
    expect(error).toBeInstanceOf(Error);
    expect(`${(error as Error).stack}${JSON.stringify(error)}`).not.toContain(secret);
    expect(Object.keys(error as object)).toEqual([]);
  });
});
