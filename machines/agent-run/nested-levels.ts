// How deeply a value is nested. What a model writes can be parsed at any depth, but whoever writes or walks through it again fails
// at some: the stack ends. So it is bounded where it is read.

/** Objects and lists within each other. */
export const MAX_LEVELS = 128;

export function isNestedTooDeeply(value: unknown, levels = MAX_LEVELS): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isNestedTooDeeply(member, levels - 1));
}
