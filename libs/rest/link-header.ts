// Pagination by the `Link` header (RFC 8288).

/** Returns the address with the relation `next`, as in the header: it may have any host. */
export function nextLink(link: string | null | undefined): string | undefined {
  return /<([^<>]*)>\s*;[^,<]*\brel="?next"?/i.exec(link ?? '')?.[1];
}
