// UTC offset of a time zone at an instant, from the runtime's zone data.

/**
 * Returns a function that computes the offset in ms, positive east of Greenwich. Throws a RangeError for an
 * invalid zone.
 */
export function zoneOffset(zone: string): (instantMs: number) => number {
  const format = new Intl.DateTimeFormat('en', {
    timeZone: zone,
    timeZoneName: 'longOffset',
    year: 'numeric',
  });
  return (instantMs) => {
    const match = /GMT([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(format.format(instantMs));
    if (match === null) return 0;
    const [, sign, hours, minutes, seconds = 0] = match;
    const ms = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
    return sign === '-' ? -ms : ms;
  };
}
