/** A time as text. It formats each millisecond once, and the part up to the second once a second. */
export class TimeText {
  private time = 0
  private text = ''
  private second = -1
  private untilSecond = ''

  of(time: number): string {
    if (time === this.time) return this.text
    this.time = time
    const second = Math.floor(time / 1000)
    if (second !== this.second) {
      this.second = second
      this.untilSecond = new Date(second * 1000).toISOString().slice(0, -4)
    }
    this.text = `${this.untilSecond}${String(time - second * 1000).padStart(3, '0')}Z`
    return this.text
  }
}
