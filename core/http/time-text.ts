/** A time as text, made once for each millisecond: many requests may end in one. */
export class TimeText {
  private time = 0
  private text = ''

  of(time: number): string {
    if (time !== this.time) {
      this.time = time
      this.text = new Date(time).toISOString()
    }
    return this.text
  }
}
