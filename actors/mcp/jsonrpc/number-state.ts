// The grammar of JSON numbers (RFC 8259 section 6) byte by byte, for text that may be cut anywhere.

import { isDigit } from './json-scanner.ts';

// Where a number stands: what was last there.
export const MINUS = 16;
const ZERO = 17;
export const WHOLE = 18;
const POINT = 19;
export const FRACTION = 20;
const EXPONENT = 21;
const EXPONENT_SIGN = 22;
const EXPONENT_DIGITS = 23;

/** What `behind` gives for a byte that ends the number, and for one that cannot stand there. */
export const NUMBER_OVER = -2;
export const NO_NUMBER = -1;

/** Behind the first byte of a value; NO_NUMBER when no number begins with it. */
export function numberFrom(byte: number): number {
  return byte === 0x2d ? MINUS : behind(MINUS, byte);
}

/** Behind one byte more. */
export function behind(state: number, byte: number): number {
  const hasDigit = isDigit(byte);
  const isExponent = byte === 0x65 || byte === 0x45;
  switch (state) {
    case MINUS:
      if (!hasDigit) return NO_NUMBER;
      return byte === 0x30 ? ZERO : WHOLE;
    case ZERO:
    case WHOLE:
      if (hasDigit) return state === WHOLE ? WHOLE : NO_NUMBER;
      if (byte === 0x2e) return POINT;
      return isExponent ? EXPONENT : NUMBER_OVER;
    case POINT:
      return hasDigit ? FRACTION : NO_NUMBER;
    case FRACTION:
      if (hasDigit) return FRACTION;
      return isExponent ? EXPONENT : NUMBER_OVER;
    case EXPONENT:
      if (byte === 0x2b || byte === 0x2d) return EXPONENT_SIGN;
      return hasDigit ? EXPONENT_DIGITS : NO_NUMBER;
    case EXPONENT_SIGN:
      return hasDigit ? EXPONENT_DIGITS : NO_NUMBER;
    default:
      return hasDigit ? EXPONENT_DIGITS : NUMBER_OVER;
  }
}

/** Whether the number is one if it ends here. */
export function isWholeNumber(state: number): boolean {
  return state === ZERO || state === WHOLE || state === FRACTION || state === EXPONENT_DIGITS;
}
