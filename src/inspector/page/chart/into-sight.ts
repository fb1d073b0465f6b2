// Brings a part of a picture, or of a list, into sight, in the box around it only: the page stays where its reader is.

/** Does nothing where it is in sight already. `content` is what the box scrolls. */
export function bringIntoSight(content: Element | null | undefined, part: Element | null | undefined): void {
  const around = content?.parentElement;
  if (around == null || part == null) return;
  const [outer, inner] = [around.getBoundingClientRect(), part.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom)
    around.scrollTop += inner.top + inner.height / 2 - outer.top - outer.height / 2;
  if (inner.left < outer.left || inner.right > outer.right)
    around.scrollLeft += inner.left + inner.width / 2 - outer.left - outer.width / 2;
}
