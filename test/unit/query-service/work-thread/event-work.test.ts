import { describe, expect, it } from 'vitest'
import { apiVersions } from '../../../../services/contract/api-version.ts'
import { eventToWire } from '../../../../services/contract/events/event.ts'
import type { WorkResult } from '../../../../services/platform/work-thread/work-messages.ts'
import { eventsWork } from '../../../../services/query-service/work-thread/event-work.ts'

const textOf = ({ chunks }: WorkResult): string => Buffer.concat([...chunks]).toString()

const eventOf = (number: number) => ({
  id: `evt_${number}`,
  accountId: 'acc_1',
  liveMode: true,
  type: number % 2 === 0 ? 'device.create' : 'schedule.created',
  data: `{"id":"x","note":"\\"data\\":[]","exact":0.1000000000000000000${number},"reference_id":null}`,
  createdAt: number,
})

describe('events written one by one', () => {
  it.each(apiVersions)('have the text of the whole list and of each event, in API version %s', apiVersion => {
    for (const count of [0, 1, 5]) {
      const events = Array.from({ length: count }, (_, number) => eventOf(number))
      const data = events.map(event => eventToWire(event, apiVersion))
      const whole = JSON.stringify({ object: 'list', url: '/events', has_more: true, data })
      expect(textOf(eventsWork({ events, apiVersion, hasMore: true }))).toBe(whole)
      for (const [index, event] of events.entries()) {
        expect(textOf(eventsWork({ events: [event], apiVersion, hasMore: null }))).toBe(JSON.stringify(data[index]))
      }
    }
  })
})
