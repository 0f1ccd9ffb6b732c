import { describe, expect, it } from 'vitest'
import type { ApiCalls, ApiResult } from '../../../services/console/api.ts'
import { checkTariffs, createTariffs, type NewTariff } from '../../../services/console/objects/new-tariffs.ts'
import { type CallRequest, callRequest } from '../../../services/contract/call.ts'
import { html } from '../../../services/web/ui-kit/html.ts'

/** Text of markup as people read it. */
const renderedText = (content: Parameters<typeof html>[1]): string =>
  String(html`${content}`)
    .replace(/<[^<>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()

const refusal = (status: number, code: string): ApiResult<never> => ({
  ok: false,
  status,
  fault: { code, message: `The API says ${code}.`, field: null },
})
const dryRun = (errors: readonly object[]) => ({ object: 'dry_run', locations: 1, stored_rows: 3, errors })

type Call = { readonly path: string; readonly body: unknown }

/** API with locations in Berlin that have 3 records each. `missing` does not exist, `taken` has a tariff, `busy` fails. */
const fakeApi = (calls: Call[] = []): ApiCalls => {
  const answer = async ({ path, body }: CallRequest): Promise<ApiResult<unknown>> => {
    calls.push({ path, body })
    if (path.includes('missing')) return refusal(404, 'not_found')
    const id = path.slice(11).replace('reference%3A', '')
    if (path.startsWith('/locations/'))
      return { ok: true, value: { id, timezone: 'Europe/Berlin', currency_code: 'EUR' } }
    const { location_id: location } = body as { location_id: string }
    if (location === 'busy') return refusal(503, 'unavailable')
    const overlaps = location === 'taken'
    if (path === '/tariffs') return overlaps ? refusal(400, 'tariff_overlap') : { ok: true, value: { id: 'trf' } }
    const error = { location_id: null, number: null, code: 'tariff_overlap', message: 'The API says tariff_overlap.' }
    return { ok: true, value: dryRun(overlaps ? [error] : []) }
  }
  const fake = {
    call: (...[operation, parameters, body]: Parameters<ApiCalls['call']>) =>
      answer(callRequest(operation, parameters, body)),
    dryRun: (...[operation, parameters, body]: Parameters<ApiCalls['dryRun']>) =>
      answer(callRequest(operation, { ...parameters, dry_run: true }, body)),
  }
  return fake as ApiCalls
}

const open: NewTariff = {
  direction: 'IMPORT',
  type: 'COMMODITY',
  isMarket: false,
  name: '',
  start: '',
  end: '',
  schedule: [],
}

const check = async (locations: readonly string[], calls: Call[] = [], tariff = open) => {
  const { effects, ...rest } = await checkTariffs(fakeApi(calls), tariff, locations)
  return { text: renderedText(effects), ...rest }
}

describe('the check of a tariff for many locations', () => {
  it('says the number of locations and records', async () => {
    expect(await check(['a', 'b'])).toEqual({
      text: '2 locations get the tariff. Priced again: 6 stored records.',
      currency: 'EUR',
      isRefused: false,
    })
  })

  it('names each location that refuses, with its reason', async () => {
    expect((await check(['a', 'taken', 'missing', 'reference:a'])).text).toBe(
      '1 location gets the tariff. Priced again: 3 stored records. 3 locations refuse the tariff: ' +
        'taken : The API says tariff_overlap. missing : The API says not_found. ' +
        'reference:a : This location is in the list already.',
    )
    expect((await check(['taken', 'missing'])).isRefused).toBe(true)
  })

  it('says which locations could not be checked', async () => {
    const { text, isRefused } = await check(['taken', 'busy'])
    expect(text).toContain('1 of the locations could not be checked now.')
    expect(isRefused).toBe(false)
  })

  it('checks the requests that the creation sends, with local times', async () => {
    const may = { ...open, start: '2026-05-01T00:00', end: '2026-05-02T00:00' }
    const [checked, created]: [Call[], Call[]] = [[], []]
    const locations = ['a', 'taken', 'missing', 'reference:a', 'b']
    const { text } = await check(locations, checked, may)
    const made = await createTariffs(fakeApi(created), may, locations)
    const [bodies, sent] = [checked, created].map(calls =>
      calls.flatMap(({ body }) => (body === undefined ? [] : [body])),
    )
    expect(bodies).toEqual(sent)
    expect(bodies?.[0]).toMatchObject({
      contract_start_date: '2026-04-30T22:00:00Z',
      contract_end_date: '2026-05-01T22:00:00Z',
    })
    for (const { location, id, message } of made) if (id === null) expect(text).toContain(`${location} : ${message}`)
    expect(text).toContain(`${made.filter(({ id }) => id !== null).length} locations get the tariff.`)
  })

  it('stops after ten seconds', async () => {
    let now = 0
    const locations = Array.from({ length: 100 }, (_, index) => `site-${index}`)
    const { effects } = await checkTariffs(fakeApi(), open, locations, () => (now += 500))
    // The clock is read once at the start, and before each dry run: 19 of them begin before 10 s have passed.
    expect(renderedText(effects)).toContain('19 locations get the tariff.')
    expect(renderedText(effects)).toContain('81 of the locations could not be checked now.')
  })
})
