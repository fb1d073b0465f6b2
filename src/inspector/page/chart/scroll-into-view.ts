// Scrolls an element into view, within its container only: the page itself does not scroll.

/** Does nothing if the part is visible. `content` is the scrolled element. */
export function scrollIntoBox(content: Element | null | undefined, part: Element | null | undefined): void {
  const around = content?.parentElement;
  if (around == null || part == null) return;
  const [outer, inner] = [around.getBoundingClientRect(), part.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom)
    around.scrollTop += inner.top + inner.height / 2 - outer.top - outer.height / 2;
  if (inner.left < outer.left || inner.right > outer.right)
    around.scrollLeft += inner.left + inner.width / 2 - outer.left - outer.width / 2;
}
