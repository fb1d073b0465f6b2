// How far a time zone is from UTC at an instant, by the zone data of the runtime.

/** A function that gives the offset at an instant, both in ms: positive east of Greenwich. Throws RangeError for no zone. */
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
