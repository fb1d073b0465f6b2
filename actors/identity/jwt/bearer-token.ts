// Reads a JSON Web Token from the Authorization header (RFC 6750, section 2.1). A token in a query string is
// not accepted, because logs and histories store it.

/** Three parts; the third may be empty. The verifier reports an invalid token. */
const BEARER = /^Bearer +([\w-]+\.[\w-]+\.[\w-]*)$/i;

/** Returns undefined without a token. */
export function bearerToken({
  authorization = '',
}: Readonly<Record<string, string | undefined>>): string | undefined {
  return BEARER.exec(authorization)?.[1];
}
