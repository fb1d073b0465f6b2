// First link of the page, for keyboard users: skips the header and the banners.

/** Id of the main element, which must be focusable. */
export const CONTENT = 'content';

export function SkipLink() {
  return (
    <a class="skip" href={`#${CONTENT}`}>
      Skip to content
    </a>
  );
}
