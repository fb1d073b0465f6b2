// The context of an event, as an agent is told it: what its payload does not say is left out.

/** By names with dots: `chat.sender.id`. */
export function knownContext(context: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(context).filter(([, value]) => value !== undefined));
}
