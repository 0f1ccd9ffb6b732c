import type { FormBody } from '../../contract/call.ts'
import type { PlanWire } from '../../contract/plans/plan.ts'
import { planLimits } from '../../domain/plan/plan.ts'
import { type Content, type Html, html } from '../../web/ui-kit/html.ts'
import type { Fault } from '../api.ts'
import { field } from '../page-parts.ts'
import { type FormResult, formBody, formFields, formText, readBody } from './object-form.ts'
import type { FormMember } from './object-kind.ts'
import { chargeTermMembers } from './pricing-kinds.ts'
import { rowsOf, scheduleBody } from './schedule-rows.ts'
import { editorRows, emptyRow, maxRows } from './tariff-rows.ts'
import {
  checkTerms,
  firstRows,
  rowsPicture,
  sentTerms,
  type Terms,
  termChoices,
  withEmptyRows,
} from './tariff-terms.ts'

type Version = Pick<PlanWire['versions'][number], 'tariffs' | 'charges'>

type TariffDraft = Terms & Readonly<Record<'name' | 'component' | 'provider', string>>

/** Texts of the inputs of a charge by their names. */
type ChargeDraft = Readonly<Record<string, string>>

/** Tariffs and charges of a version as texts of inputs. */
export type PricesDraft = { readonly tariffs: readonly TariffDraft[]; readonly charges: readonly ChargeDraft[] }

/** Maximum number of charges of a form. */
const maxCharges = 30

const tariffPrefix = (index: number): string => `tariff-${index}-`
const chargePrefix = (index: number): string => `charge-${index}-`

/** Inputs whose names begin with `prefix`, by the rest of their names. */
const inputsWith = (form: URLSearchParams, prefix: string): URLSearchParams =>
  new URLSearchParams(
    Object.fromEntries(
      [...form].flatMap(([name, sent]) =>
        name.startsWith(prefix) ? [[name.slice(prefix.length), sent.trim()] as const] : [],
      ),
    ),
  )

/** Parts of a form, without those that the user removes. */
const partsOf = (form: URLSearchParams, prefixOf: (index: number) => string, count: number): URLSearchParams[] =>
  Array.from({ length: count }, (_, index) => inputsWith(form, prefixOf(index))).filter(
    part => part.size > 0 && !part.has('remove'),
  )

const text = (form: URLSearchParams, name: string): string => form.get(name) ?? ''

/** Read the tariffs and charges of a form. Removed tariffs and charges are left out. */
export const sentPrices = (form: URLSearchParams): PricesDraft => ({
  tariffs: partsOf(form, tariffPrefix, planLimits.tariffs).map(part => ({
    ...sentTerms(part),
    name: text(part, 'name'),
    component: text(part, 'component'),
    provider: text(part, 'provider'),
  })),
  charges: partsOf(form, chargePrefix, maxCharges).map(part =>
    Object.fromEntries(chargeTermMembers.map(({ name }) => [name, text(part, name)])),
  ),
})

const newTariff: TariffDraft = {
  direction: 'IMPORT',
  type: 'COMMODITY',
  isMarket: false,
  rows: [emptyRow],
  name: '',
  component: '',
  provider: '',
}
const newCharge: ChargeDraft = { ...Object.fromEntries(chargeTermMembers.map(({ name }) => [name, ''])), kind: 'FIXED' }

/** Prices of an example. */
export const firstPrices: PricesDraft = { tariffs: [{ ...newTariff, rows: firstRows }], charges: [] }

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0

const chargeDraft = (charge: Readonly<Record<string, unknown>>): ChargeDraft => {
  const own = new Set(chargeTermMembers.map(({ name }) => name))
  const others = Object.fromEntries(
    Object.entries(charge).filter(([name, value]) => !own.has(name) && value !== null && !isEmptyList(value)),
  )
  const textOf = (member: FormMember): string => {
    if (member.type === 'whole') return Object.keys(others).length === 0 ? '' : formText(others, member)
    return isEmptyList(charge[member.name]) ? '' : formText(charge, member)
  }
  return Object.fromEntries(chargeTermMembers.map(member => [member.name, textOf(member)]))
}

/** Return the tariffs and charges of a version; null if they are too large for a form. */
export const storedPrices = ({ tariffs, charges }: Version): PricesDraft | null => {
  const drafts = tariffs.map(({ direction, type, market_rates: isMarket, schedule, ...one }) => ({
    direction,
    type,
    isMarket,
    rows: rowsOf(schedule, isMarket),
    component: one.component,
    name: one.display_name ?? '',
    provider: one.provider_id ?? '',
  }))
  const isTooLarge = charges.length > maxCharges || drafts.some(({ rows }) => rows.length > maxRows)
  return isTooLarge ? null : { tariffs: drafts, charges: charges.map(chargeDraft) }
}

export const tooLargePrices: Fault = {
  code: 'too_many_rows',
  message: `This page shows ${maxRows} rows of a tariff and ${maxCharges} charges. Change this plan with the API.`,
  field: null,
}

/** Add what a button of the form asks for: empty rows, a tariff or a charge. */
export const withMore = ({ tariffs, charges }: PricesDraft, intent: string): PricesDraft => ({
  tariffs: [
    ...tariffs.map(one => (intent === 'rows' ? { ...one, rows: withEmptyRows(one.rows, 6) } : one)),
    ...(intent === 'tariff' ? [newTariff] : []),
  ].slice(0, planLimits.tariffs),
  charges: [...charges, ...(intent === 'charge' ? [newCharge] : [])].slice(0, maxCharges),
})

/** Place of an error: the list, the item and the member. */
const placeOf = (fault: Fault | null) => {
  const [, list, index, member = ''] = /^(tariffs|charges)\[(\d+)\]\.?(.*)$/.exec(fault?.field ?? '') ?? []
  return { list, index: Number(index), member }
}

const removeBox = (prefix: string, name: string): Html =>
  html`<p class="hint"><label><input type="checkbox" name="${prefix}remove" value="true">Remove this ${name}</label></p>`

const tariffPart = (draft: TariffDraft, index: number, fault: Fault | null): Html => {
  const prefix = tariffPrefix(index)
  const { list, index: at } = placeOf(fault)
  const own = fault !== null && list === 'tariffs' && at === index ? { ...fault, field: 'schedule' } : null
  return html`<fieldset class="part"><legend>Tariff ${index + 1}</legend>
<input type="hidden" name="${prefix}provider" value="${draft.provider}">
<div class="filter">${field(`${prefix}name`, 'Name', { value: draft.name })}${termChoices(draft, prefix)}
${field(`${prefix}component`, 'Component', { value: draft.component })}</div>
${editorRows(withEmptyRows(draft.rows, 1), own, prefix)}${removeBox(prefix, 'tariff')}</fieldset>`
}

const chargePart = (draft: ChargeDraft, index: number, fault: Fault | null): Html => {
  const prefix = chargePrefix(index)
  const { list, index: at, member } = placeOf(fault)
  const own = fault !== null && list === 'charges' && at === index ? fault : null
  const members = chargeTermMembers.map(one => ({ ...one, name: prefix + one.name, isRequired: false }))
  const atMember = own === null ? null : { ...own, field: prefix + member }
  const isShown = chargeTermMembers.some(({ name }) => name === member.split(/[.[]/)[0])
  return html`<fieldset class="part"><legend>Charge ${index + 1}</legend>
${own === null || isShown ? null : html`<p class="fault">${own.message}</p>`}
<div class="pairs">${formFields(members, ({ name }) => draft[name.slice(prefix.length)] ?? '', atMember)}</div>
${removeBox(prefix, 'charge')}</fieldset>`
}

/** Create the inputs of tariffs and charges. An error appears in its tariff or charge. */
export const pricesInputs = ({ tariffs, charges }: PricesDraft, fault: Fault | null): Html =>
  html`${tariffs.map((one, index) => tariffPart(one, index, fault))}${charges.map((one, index) => chargePart(one, index, fault))}`

/** Buttons that add inputs to the form of a version. */
export const moreButtons = ({ tariffs, charges }: PricesDraft): Html =>
  html`<button type="submit" name="do" value="rows" class="quiet" formnovalidate>Add rows</button>${
    tariffs.length < planLimits.tariffs
      ? html`<button type="submit" name="do" value="tariff" class="quiet" formnovalidate>Add tariff</button>`
      : null
  }${charges.length < maxCharges ? html`<button type="submit" name="do" value="charge" class="quiet" formnovalidate>Add charge</button>` : null}`

/** Show the prices of the tariffs as weeks. */
export const pricesPicture = ({ tariffs }: PricesDraft, currency: string): Content =>
  tariffs.map(
    ({ name, direction, rows, isMarket }, index) =>
      html`<h2>${name === '' ? `Tariff ${index + 1}` : name}, ${direction.toLowerCase()}</h2>${rowsPicture(rows, isMarket, currency)}`,
  )

/** Read the tariffs and charges of a request. Prices are checked as the API does; an error names the row. */
export const readPrices = ({ tariffs, charges }: PricesDraft): FormResult => {
  const tariffBodies: object[] = []
  for (const [index, draft] of tariffs.entries()) {
    const { read, fault } = checkTerms(draft)
    if (fault !== null)
      return {
        ok: false,
        fault: { ...fault, message: `Tariff ${index + 1}: ${fault.message}`, field: `tariffs[${index}].schedule` },
      }
    tariffBodies.push({
      direction: draft.direction,
      type: draft.type,
      market_rates: draft.isMarket,
      ...(draft.name === '' ? {} : { display_name: draft.name }),
      ...(draft.component === '' ? {} : { component: draft.component }),
      ...(draft.provider === '' ? {} : { provider_id: draft.provider }),
      schedule: scheduleBody(read.schedule),
    })
  }
  const chargeBodies: FormBody[] = []
  for (const [index, draft] of charges.entries()) {
    const read = readBody(new URLSearchParams(draft), chargeTermMembers, null)
    if (!read.ok) return { ok: false, fault: { ...read.fault, field: `charges[${index}].${read.fault.field ?? ''}` } }
    chargeBodies.push(read.body)
  }
  return { ok: true, body: formBody({ tariffs: tariffBodies, charges: chargeBodies }) }
}
