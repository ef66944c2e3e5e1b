/** The time as text, made once for each millisecond: many requests may end in one. */
export class TimeText {
  private time = 0
  private text = ''

  now(): string {
    const time = Date.now()
    if (time !== this.time) {
      this.time = time
      this.text = new Date(time).toISOString()
    }
    return this.text
  }
}
