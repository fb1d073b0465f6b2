// Roles of principals. Each role includes the rights of the roles before it.

/** Ascending. */
export const roles = ['viewer', 'user', 'operator', 'admin'] as const;

export type Role = (typeof roles)[number];

/** Returns true if the role `own` includes the rights of the role `needed`. */
export function includesRole(own: Role, needed: Role): boolean {
  return roles.indexOf(own) >= roles.indexOf(needed);
}
