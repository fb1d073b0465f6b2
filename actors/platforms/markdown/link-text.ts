// Labels of links. A label that looks like an address would hide the address of the link.

const LOOKS_LIKE_ADDRESS =
  /^(?:[a-z][a-z0-9+.-]*:\/\/|www\.)\S|^[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}(?:[/:?#]\S*)?$/i;

/** True if the label may replace the address. */
export function isHonestLabel(label: string, href: string): boolean {
  const text = label.trim();
  return text !== '' && !isAddress(text, href) && !LOOKS_LIKE_ADDRESS.test(text);
}

/** Returns label and address as text; only one of them if they are equal or the other is empty. */
export function labelAndAddress(label: string, href: string): string {
  const text = label.trim();
  if (text === '') return href.replace(/^mailto:/i, '');
  return href === '' || isAddress(text, href) ? text : `${text} (${href.replace(/^mailto:/i, '')})`;
}

const isAddress = (text: string, href: string) => text === href || `mailto:${text}` === href;
