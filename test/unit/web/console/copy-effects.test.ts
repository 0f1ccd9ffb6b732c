import { describe, expect, it } from 'vitest'
import type { Api, ApiResult } from '../../../../services/web/console/api.ts'
import { copyEffects } from '../../../../services/web/console/objects/copy-effects.ts'
import { html } from '../../../../services/web/ui-kit/html.ts'

/** Text of markup as people read it. */
const renderedText = (content: Parameters<typeof html>[1]): string =>
  String(html`${content}`)
    .replace(/<[^<>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()

const at = Date.UTC(2026, 5, 1)
const refusal = (status: number, code: string): ApiResult<never> => ({
  ...{ ok: false, status },
  fault: { code, message: 'Refused.', field: null },
})

/** API with locations in Berlin that have 3 records each. `missing` does not exist, and `busy` cannot be counted. */
const fakeApi = (calls: { readonly path: string; readonly body: unknown }[] = []): Api =>
  (async (_method: string, path: string, body?: object): Promise<ApiResult<unknown>> => {
    calls.push({ path, body })
    if (path.includes('missing')) return refusal(404, 'not_found')
    if (path.startsWith('/locations/')) return { ok: true, value: { id: path.slice(11), timezone: 'Europe/Berlin' } }
    if (path.includes('busy')) return refusal(503, 'unavailable')
    return { ok: true, value: { data: [{ records: 3, energy: { value: 1 } }] } }
  }) as Api

const open = { direction: 'IMPORT', start: '', end: '' } as const

const effects = async (locations: readonly string[], tariff = open as Parameters<typeof copyEffects>[1]) =>
  renderedText(await copyEffects({ api: fakeApi(), at }, tariff, locations))

describe('the effects of a tariff for many locations', () => {
  it('say the number of records if all locations were counted', async () => {
    expect(await effects(['a', 'b'])).toBe('2 locations get the tariff. Priced again: 6 stored records in its time.')
  })

  it('say a lower bound if the API refuses to count a location', async () => {
    expect(await effects(['a', 'busy', 'b'])).toBe(
      '3 locations get the tariff. Priced again: at least 6 stored records in its time. ' +
        'The records of 1 of the locations could not be counted now. They are priced again as well.',
    )
    expect(await effects(['busy', 'busy'])).toContain('Priced again: stored records, not counted, in its time.')
  })

  it('leave out locations that do not exist', async () => {
    expect(await effects(['a', 'missing', 'missing'])).toBe(
      '1 location gets the tariff. Priced again: 3 stored records in its time. 2 locations do not exist.',
    )
  })

  it('count from the local start to the local end, and nothing of a tariff in the future', async () => {
    const calls: { path: string; body: unknown }[] = []
    const may = { ...open, start: '2026-05-01T00:00', end: '2026-05-02T00:00' }
    await copyEffects({ api: fakeApi(calls), at }, may, ['a', 'b'])
    expect(calls.filter(({ path }) => path.startsWith('/costs')).map(({ body }) => body)).toEqual([
      { start_time: '2026-04-30T22:00:00Z', end_time: '2026-05-01T22:00:00Z' },
      { start_time: '2026-04-30T22:00:00Z', end_time: '2026-05-01T22:00:00Z' },
    ])
    expect(await effects(['a', 'b'], { ...open, start: '2026-07-01T00:00' })).toContain('0 stored records')
  })

  it('stop to count after two seconds', async () => {
    let now = 0
    const locations = Array.from({ length: 100 }, (_, index) => `site-${index}`)
    const content = await copyEffects({ api: fakeApi(), at }, open, locations, () => (now += 500))
    // The clock is read once at the start, and before each group of 10: groups begin at 0.5, 1 and 1.5 s.
    expect(renderedText(content)).toContain('100 locations get the tariff. Priced again: at least 90 stored records')
    expect(renderedText(content)).toContain('The records of 70 of the locations could not be counted now.')
  })
})
