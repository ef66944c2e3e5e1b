/** How often to run a property: `many` times in the slow run, a twentieth of that in `npm test`. */
export const runs = (many: number): number =>
  process.env['SALLYPORT_SLOW'] === undefined ? Math.ceil(many / 20) : many
