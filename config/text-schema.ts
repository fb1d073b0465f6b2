// Schemas of texts shared by several files: plain texts, and texts by name such as headers and environment variables. Variables
// with a credential name and headers with an opaque value are credentials (A9).

import * as Type from 'typebox';

const noNul = { pattern: '^[^\\0]*$', patternErrorMessage: 'text without a NUL character' };

/** Text that is not empty. */
export function text(description: string) {
  return Type.String({ description, minLength: 1, ...noNul });
}

/** Text that is not empty and names something that the gateway tells of: who answers, who decides, a place. */
export function name(description: string) {
  return Type.String({ description, minLength: 1, ...noNul, shownAs: 'name' });
}

/** Text that is not empty and is never shown. */
export function secret(description: string) {
  return Type.String({ description, minLength: 1, ...noNul, writeOnly: true });
}

/** Texts by keys of a pattern; empty when none are written. `Type.Record` costs 8 ms of each start. */
export function textByKey(keyPattern: string, member: Type.TString, options: Type.TSchemaOptions) {
  return Type.Unsafe<Record<string, string>>({
    type: 'object',
    patternProperties: { [keyPattern]: member },
    additionalProperties: false,
    default: {},
    ...options,
  });
}

/** Values of HTTP headers by name. */
export function headersByName(description: string) {
  // A token of RFC 9110, section 5.6.2.
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

/** Variables of a program's environment. */
export function variablesByName(description: string) {
  const value = Type.String({ ...noNul, writeOnly: true, secretBy: 'name' });
  return textByKey('^[^=\\0]+$', value, {
    description,
    patternErrorMessage: 'a variable name without "="',
  });
}
