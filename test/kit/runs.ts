/** Runs of a property: this many in the slow run, and few where a person waits. */
export const runs = (many: number): number =>
  process.env['SALLYPORT_SLOW'] === undefined ? Math.ceil(many / 20) : many
