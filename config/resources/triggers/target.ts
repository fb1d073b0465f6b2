// Who is to answer an event: what a command, a rule or a trigger leads to.

export const targetKinds = ['agent', 'fleet', 'flow'] as const;

/** An agent, a fleet of agents, a flow. */
export type TargetKind = (typeof targetKinds)[number];

export interface Target {
  readonly kind: TargetKind;
  readonly name: string;
}

export const agentTarget = (name: string): Target => ({ kind: 'agent', name });

export const optionalAgent = (name: string | undefined) =>
  name === undefined ? undefined : agentTarget(name);

/** `agent reviewer`. */
export const targetText = ({ kind, name }: Target) => `${kind} ${name}`;

export function isSameTarget(one: Target | undefined, other: Target | undefined): boolean {
  return one?.kind === other?.kind && one?.name === other?.name;
}
