// Schemas for texts, and for texts by name such as headers and environment variables. Variables with a name
// such as API_TOKEN are credentials (A9, ARCHITECTURE.md), and so are headers with an opaque value, which
// does not consist of readable words, numbers or paths (credentials/plain-values.ts).

import * as Type from 'typebox';

const noNul = { pattern: '^[^\\0]*$', patternErrorMessage: 'text without a NUL character' };

/** Non-empty text. */
export function text(description: string) {
  return Type.String({ description, minLength: 1, ...noNul });
}

/** Non-empty text that the API may show: an agent, an approver, a channel. */
export function name(description: string) {
  return Type.String({ description, minLength: 1, ...noNul, shownAs: 'name' });
}

/** Non-empty text that is never shown. */
export function secret(description: string) {
  return Type.String({ description, minLength: 1, ...noNul, writeOnly: true });
}

/** Texts by keys that match a pattern; empty by default. `Type.Record` would cost 8 ms at startup. */
export function textByKey(keyPattern: string, member: Type.TString, options: Type.TSchemaOptions) {
  return Type.Unsafe<Record<string, string>>({
    type: 'object',
    patternProperties: { [keyPattern]: member },
    additionalProperties: false,
    default: {},
    ...options,
  });
}

/** HTTP header values by name. */
export function headersByName(description: string) {
  // Token, RFC 9110, section 5.6.2.
  const name = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$";
  const value = Type.String({
    pattern: '^[\\t -~\\x80-\\xff]*$',
    patternErrorMessage:
      'text without line breaks or control characters (does the variable end with a line break?)',
    writeOnly: true,
    secretBy: 'value',
  });
  return textByKey(name, value, { description, patternErrorMessage: 'an HTTP header name' });
}

/** Environment variables. */
export function variablesByName(description: string) {
  const value = Type.String({ ...noNul, writeOnly: true, secretBy: 'name' });
  return textByKey('^[^=\\0]+$', value, {
    description,
    patternErrorMessage: 'a variable name without "="',
  });
}
