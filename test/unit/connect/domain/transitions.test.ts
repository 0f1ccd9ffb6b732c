import { describe, expect, it } from 'vitest'
import {
  advance,
  type ConnectTariffStatus,
  type SessionInput,
  type TransitionEffect,
} from '../../../../services/connect/domain/advance.ts'
import type { ConnectAction, ConnectApiVersion, ConnectPageName } from '../../../../services/connect/domain/page.ts'
import type { PageSubmission } from '../../../../services/connect/domain/page-submission.ts'
import { type ConnectConfig, type ConnectState, newConnectState } from '../../../../services/connect/domain/session.ts'

const plainConfig = (apiVersion: ConnectApiVersion): ConnectConfig => ({
  layout: apiVersion,
  summaryName: 'tariffs_summary',
  direction: 'IMPORT',
  type: 'COMMODITY',
  disconnect: false,
  edit: false,
  capturesAdvanced: false,
  capturesName: false,
  capturesTerm: false,
})

const supplier = { id: 'prv_1', displayName: 'Volt', logoUrl: null, loginUrl: null, hasLibrary: false }
const shelf = { ...supplier, hasLibrary: true }
const direct = { ...supplier, loginUrl: 'https://login.example.com' }
const placed: Partial<ConnectState> = { isPlaced: true, regions: ['GB'], currencyCode: 'GBP' }
const chosen: Partial<ConnectState> = { ...placed, provider: supplier }
const fixed: Partial<ConnectState> = { ...chosen, structure: 'FIXED', source: 'captured', cost: '0.3' }
const market: Partial<ConnectState> = { ...chosen, structure: 'MARKET' }
const term = { start: null, end: null, type: '' } as const
const surcharge = { fixed: '0', percentage: '0' }

const begin = (tariffStatus: ConnectTariffStatus): SessionInput => ({ kind: 'start', tariffStatus })
const submit = (submission: PageSubmission): SessionInput => ({ kind: 'submit', submission })
const press = (action: ConnectAction, page: ConnectPageName | null = null): SessionInput => ({
  kind: 'action',
  action,
  page,
})
const address: PageSubmission = {
  page: 'address',
  address: {},
  regions: ['GB'],
  hasMarketSource: false,
  currencyCode: 'GBP',
}
const login = (outcome: 'connected' | 'pending' | 'skipped' | 'again' | 'another') => submit({ page: 'login', outcome })

type Row = readonly [
  string,
  Partial<ConnectConfig>,
  Partial<ConnectState>,
  SessionInput,
  ConnectPageName,
  (TransitionEffect | null)?,
]
const all: Partial<ConnectConfig> = { capturesAdvanced: true, capturesName: true, capturesTerm: true }

/** The transitions of the reference, in its order; effects are those of the current API version. */
const rows: readonly Row[] = [
  ['start: disconnect_tariff', { disconnect: true }, placed, begin('connected'), 'end', 'disconnect'],
  ['start: a connected location', {}, placed, begin('connected'), 'summary'],
  ['start: one whose tariff is on its way', {}, placed, begin('pending'), 'pending'],
  ['start: one whose tariff has failed', {}, placed, begin('failed'), 'failed'],
  ['start: edit_tariff at a connected location', { edit: true }, placed, begin('connected'), 'provider'],
  ['start: edit_tariff while pending', { edit: true }, placed, begin('pending'), 'provider'],
  ['start: an address that is not complete', {}, {}, begin('none'), 'address'],
  ['start: a complete one', {}, placed, begin('none'), 'provider'],
  ['start: again, on every page', {}, { ...fixed, page: 'fixed' }, begin('connected'), 'fixed'],
  [
    'start: back from a login without a tariff',
    {},
    { ...chosen, provider: direct, page: 'login' },
    begin('none'),
    'structure',
  ],
  ['start: pending has become connected', {}, { ...chosen, page: 'pending' }, begin('connected'), 'summary'],
  ['start: pending has failed', {}, { ...chosen, page: 'pending' }, begin('failed'), 'failed'],
  ['address', {}, { page: 'address' }, submit(address), 'provider'],
  ['ADDRESS_CHANGE', {}, { ...placed, page: 'provider' }, press('ADDRESS_CHANGE'), 'address'],
  ['PROVIDER_MISSING', {}, { ...placed, page: 'provider' }, press('PROVIDER_MISSING'), 'provider_name'],
  [
    'a provider with a login',
    {},
    { ...placed, page: 'provider' },
    submit({ page: 'provider', provider: direct }),
    'login',
  ],
  [
    'a provider with a library',
    {},
    { ...placed, page: 'provider' },
    submit({ page: 'provider', provider: shelf }),
    'library',
  ],
  [
    'a provider without either',
    {},
    { ...placed, page: 'provider' },
    submit({ page: 'provider', provider: supplier }),
    'structure',
  ],
  [
    'provider name',
    {},
    { ...placed, page: 'provider_name' },
    submit({ page: 'provider_name', provider: supplier }),
    'structure',
  ],
  ['TARIFF_MISSING', {}, { ...chosen, provider: shelf, page: 'library' }, press('TARIFF_MISSING'), 'structure'],
  ['login: success', {}, { ...chosen, provider: direct, page: 'login' }, login('connected'), 'summary', 'complete'],
  ['login: a slow provider', {}, { ...chosen, provider: direct, page: 'login' }, login('pending'), 'pending'],
  ['login: skipped, no library', {}, { ...chosen, provider: direct, page: 'login' }, login('skipped'), 'structure'],
  [
    'login: skipped, with a library',
    {},
    { ...chosen, provider: { ...direct, hasLibrary: true }, page: 'login' },
    login('skipped'),
    'library',
  ],
  ['login: another provider', {}, { ...chosen, provider: direct, page: 'login' }, login('another'), 'provider'],
  [
    'a library tariff',
    {},
    { ...chosen, provider: shelf, page: 'library' },
    submit({ page: 'library', tariffId: 'trt_1', name: 'A' }),
    'summary',
    'save',
  ],
  ['structure FIXED', {}, { ...chosen, page: 'structure' }, submit({ page: 'structure', structure: 'FIXED' }), 'fixed'],
  [
    'structure TIME_OF_DAY',
    {},
    { ...chosen, page: 'structure' },
    submit({ page: 'structure', structure: 'TIME_OF_DAY' }),
    'time_of_day',
  ],
  [
    'structure ADVANCED',
    all,
    { ...chosen, page: 'structure' },
    submit({ page: 'structure', structure: 'ADVANCED' }),
    'advanced',
  ],
  [
    'structure MARKET',
    {},
    { ...chosen, page: 'structure' },
    submit({ page: 'structure', structure: 'MARKET' }),
    'surcharge',
  ],
  [
    'rate, no more pages',
    {},
    { ...chosen, structure: 'FIXED', page: 'fixed' },
    submit({ page: 'fixed', cost: '1' }),
    'summary',
    'save',
  ],
  [
    'rate, then name',
    all,
    { ...chosen, structure: 'FIXED', page: 'fixed' },
    submit({ page: 'fixed', cost: '1' }),
    'name',
  ],
  [
    'rate, then term',
    { capturesTerm: true },
    { ...chosen, structure: 'FIXED', page: 'fixed' },
    submit({ page: 'fixed', cost: '1' }),
    'term',
  ],
  [
    'hours',
    {},
    { ...chosen, structure: 'TIME_OF_DAY', page: 'time_of_day' },
    submit({ page: 'time_of_day', hours: [] }),
    'summary',
    'save',
  ],
  [
    'surcharge',
    {},
    { ...market, page: 'surcharge' },
    submit({ page: 'surcharge', surcharge, region: null }),
    'summary',
    'save',
  ],
  ['name, then term', all, { ...fixed, page: 'name' }, submit({ page: 'name', name: 'A' }), 'term'],
  ['name', { capturesName: true }, { ...fixed, page: 'name' }, submit({ page: 'name', name: 'A' }), 'summary', 'save'],
  ['term', all, { ...fixed, page: 'term' }, submit({ page: 'term', term }), 'summary', 'save'],
  ...(['summary', 'pending', 'failed'] as const).flatMap((page): readonly Row[] => [
    [`EDIT on ${page}`, {}, { ...fixed, page }, press('EDIT'), 'provider'],
    [`DISCONNECT on ${page}`, {}, { ...fixed, page }, press('DISCONNECT'), 'end', 'disconnect'],
    [`CLOSE on ${page}`, {}, { ...fixed, page }, press('CLOSE'), page, 'leave'],
  ]),
  ['WRONG_TARIFF_REPORT', {}, { ...fixed, page: 'summary' }, press('WRONG_TARIFF_REPORT'), 'summary', 'report'],
  ['DISMISS_DIRECT while pending', {}, { ...chosen, page: 'pending' }, press('DISMISS_DIRECT'), 'structure'],
  ['RECONNECT after a failure', {}, { ...chosen, provider: direct, page: 'failed' }, press('RECONNECT'), 'login'],
  ['BACK on the first page', {}, { page: 'address' }, press('BACK'), 'address', 'leave'],
  [
    'BACK on a later one',
    {},
    { ...chosen, page: 'structure', trail: ['address', 'provider'] },
    press('BACK'),
    'provider',
  ],
  [
    'BACK from an older page',
    {},
    { ...fixed, page: 'summary', trail: ['address', 'provider', 'structure', 'fixed'] },
    press('BACK', 'structure'),
    'provider',
  ],
  [
    'BACK from an older page that is the first',
    {},
    { ...fixed, page: 'structure', trail: ['provider'] },
    press('BACK', 'provider'),
    'structure',
    'leave',
  ],
  [
    'BACK from a page that was left in another tab',
    {},
    { ...chosen, page: 'provider', trail: ['address'] },
    press('BACK', 'structure'),
    'provider',
  ],
]

const run = (apiVersion: ConnectApiVersion, [, config, state, input]: Row) =>
  advance({ ...plainConfig(apiVersion), ...config }, { ...newConnectState, ...state }, input)

describe('a transition of the reference', () => {
  it.each(rows.map(row => [row[0], row] as const))('%s', (_, row) => {
    const [, , , , page, effect = null] = row
    expect(run('current', row)).toMatchObject({ ok: true, value: { state: { page }, effect } })
  })

  it.each(rows.map(row => [row[0], row] as const))('in the earlier API version, which saves on SAVE: %s', (_, row) => {
    const [, , , , page, effect = null] = row
    const waits = effect === 'save' || effect === 'complete'
    expect(run('earlier', row)).toMatchObject({ ok: true, value: { state: { page }, effect: waits ? null : effect } })
  })

  it('shows the region page in the current API version, and the region on the surcharge page in the earlier one', () => {
    const state = { ...chosen, page: 'structure', regions: ['NO1', 'NO2'] } as const
    const row: Row = ['', {}, state, submit({ page: 'structure', structure: 'MARKET' }), 'region']
    expect(run('current', row)).toMatchObject({ value: { state: { page: 'region' } } })
    expect(run('earlier', row)).toMatchObject({ value: { state: { page: 'surcharge' } } })
    const at = { ...state, structure: 'MARKET', page: 'region' } as const
    expect(run('current', ['', {}, at, submit({ page: 'region', region: null }), 'region'])).toMatchObject({
      value: { state: { page: 'region' } },
    })
    expect(run('current', ['', {}, at, submit({ page: 'region', region: 'NO2' }), 'surcharge'])).toMatchObject({
      value: { state: { page: 'surcharge', region: 'NO2' } },
    })
    expect(run('current', ['', {}, at, submit({ page: 'region', region: 'SE1' }), 'region'])).toMatchObject({
      ok: false,
      refusal: { code: 'market_region_invalid' },
    })
  })

  it('ends with SAVE: the earlier API version saves then, the current one has saved already', () => {
    const row: Row = ['', {}, { ...fixed, page: 'summary' }, press('SAVE'), 'end']
    expect(run('earlier', row)).toMatchObject({ value: { state: { page: 'end' }, effect: 'save' } })
    expect(run('current', row)).toMatchObject({ value: { state: { page: 'end' }, effect: 'complete' } })
    const again: Row = ['', {}, { ...fixed, page: 'end' }, press('SAVE'), 'end']
    expect(run('earlier', again)).toMatchObject({ value: { effect: 'leave' } })
    const stored: Row = ['', {}, { ...fixed, source: 'stored', page: 'summary' }, press('SAVE'), 'end']
    expect(run('earlier', stored)).toMatchObject({ value: { effect: 'complete' } })
  })

  it.each([
    'SAVE',
    'RECONNECT',
    'DISMISS_DIRECT',
    'TARIFF_MISSING',
    'WRONG_TARIFF_REPORT',
    'PROVIDER_MISSING',
  ] as const)('refuses %s where it has no use', action => {
    expect(run('current', ['', {}, { page: 'address' }, press(action), 'address'])).toMatchObject({
      ok: false,
      refusal: { code: 'action_invalid' },
    })
  })

  it('takes SAVE while the tariff is on its way: the visit ends, and nothing is kept', () => {
    const row: Row = ['', {}, { ...chosen, page: 'pending' }, press('SAVE'), 'end']
    expect(run('earlier', row)).toMatchObject({ value: { state: { page: 'end' }, effect: null } })
  })

  it('notes a report once', () => {
    const row: Row = ['', {}, { ...fixed, page: 'summary', isReported: true }, press('WRONG_TARIFF_REPORT'), 'summary']
    expect(run('current', row)).toMatchObject({ value: { effect: null } })
  })
})
