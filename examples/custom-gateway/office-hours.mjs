import { definePlugin, Guard, Refusal } from 'sallyport'
import { z } from 'zod'

export default definePlugin({
  name: 'office-hours',
  api: 1,
  version: '1.0.0',
  summary: 'Refuses requests outside the given hours of the day, in UTC.',
  provides: [Guard],
  options: z.strictObject({
    from: z.int().min(0).max(24).default(0).describe('the first hour'),
    to: z.int().min(0).max(24).default(24).describe('the hour after the last'),
  }),

  setup(gateway, { from, to }) {
    gateway.provide(Guard, () => {
      const hour = new Date().getUTCHours()
      if (hour >= from && hour < to) return
      throw new Refusal(403, 'CLOSED', 'the gateway is closed at this hour')
    })
  },
})
