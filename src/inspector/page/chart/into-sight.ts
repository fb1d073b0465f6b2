// Brings a part of a picture into sight, in the box around the picture only: the page stays where its reader is.

/** Does nothing where it is in sight already. `picture` is what the box scrolls. */
export function bringIntoSight(picture: SVGElement | null, part: Element | null | undefined): void {
  const around = picture?.parentElement;
  if (around == null || part == null) return;
  const [outer, inner] = [around.getBoundingClientRect(), part.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom)
    around.scrollTop += inner.top + inner.height / 2 - outer.top - outer.height / 2;
  if (inner.left < outer.left || inner.right > outer.right)
    around.scrollLeft += inner.left + inner.width / 2 - outer.left - outer.width / 2;
}
