// Validates the Ed25519 public keys (RFC 8032, section 5.1.3) that verify a platform's requests. With most
// invalid keys, no signature would ever match; with weak keys, such as zeros, any sender could forge them.

/** Prime of the curve's field: all coordinates are smaller. */
const P = 2n ** 255n - 19n;
/** Constant d of the curve. */
const D = mod(-121_665n * inverse(121_666n));
/** Bit of the encoded point that contains the sign of x. The lower bits are y. */
const SIGN_BIT = 2n ** 255n;

/** Returns the error message for a key of 64 hex digits, or undefined. */
export function ed25519KeyFault(hex: string): string | undefined {
  const encoded = BigInt(`0x${Buffer.from(hex, 'hex').reverse().toString('hex')}`);
  const y = encoded % SIGN_BIT;
  const isNegative = encoded >= SIGN_BIT;
  const x2 = y < P ? squareOfX(y) : undefined;
  if (x2 === undefined || (x2 === 0n && isNegative)) return 'is not an Ed25519 public key';
  return isOfSmallOrder(y) ? 'is a weak key: signatures could be forged' : undefined;
}

/** Returns the square of x; undefined if no point of the curve has this y. */
function squareOfX(y: bigint): bigint | undefined {
  const x2 = mod((y * y - 1n) * inverse(D * y * y + 1n));
  // Euler's criterion: the power is 0 or 1 if x2 is a square.
  return power(x2, (P - 1n) / 2n) <= 1n ? x2 : undefined;
}

/** Returns true for a weak key: three doublings of its point result in the neutral point, whose y is 1. */
function isOfSmallOrder(y: bigint): boolean {
  let doubled = y;
  for (let i = 0; i < 3; i += 1) {
    const x2 = squareOfX(doubled) ?? 0n;
    const y2 = doubled * doubled;
    doubled = mod((y2 + x2) * inverse(2n + x2 - y2));
  }
  return doubled === 1n;
}

function mod(value: bigint): bigint {
  const rest = value % P;
  return rest < 0n ? rest + P : rest;
}

function inverse(value: bigint): bigint {
  return power(mod(value), P - 2n);
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let square = mod(base);
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = mod(result * square);
    square = mod(square * square);
  }
  return result;
}
