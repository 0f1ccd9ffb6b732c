import type { Operation } from '../../contract/operation.ts'
import { planCreate, planVersionCreate, planVersionDelete, planVersionUpdate } from '../../contract/plans/plan.ts'
import { type Content, html } from '../../web/ui-kit/html.ts'
import type { Fault } from '../api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute, postRoute } from '../console-request.ts'
import { checkedChange } from '../kit/checked-change.ts'
import { form, type PageResult, type PageView } from '../page-frame.ts'
import { errorNotice, field } from '../page-parts.ts'
import { isPage, planRoute, problem, withPlan } from './plan-pages.ts'
import {
  firstPrices,
  moreButtons,
  type PricesDraft,
  pricesInputs,
  pricesPicture,
  readPrices,
  sentPrices,
  storedPrices,
  tooLargePrices,
  withMore,
} from './plan-prices.ts'

type PricesPage = {
  readonly title: string
  readonly action: string
  readonly back: string
  readonly button: string
  /** Inputs above the prices. */
  readonly inputs: Content
}

/** Form with the prices of a version. */
const pricesPage = (
  { csrf }: ConsoleRequest,
  { title, action, back, button, inputs }: PricesPage,
  prices: PricesDraft,
  fault: Fault | null,
): PageView => ({
  title,
  status: fault === null ? 200 : 400,
  body: html`<h1>${title}</h1>${fault === null ? null : errorNotice(fault)}${form(
    csrf,
    action,
    html`${inputs}${pricesInputs(prices, fault)}
<div class="actions"><button type="submit">${button}</button>${moreButtons(prices)}<a href="${back}">Cancel</a></div>`,
    'form wide',
  )}`,
})

/** Names of the filled inputs of a form, without those of its buttons and of the confirmation. */
const filledInputs = (sent: URLSearchParams): readonly string[] =>
  [...sent].flatMap(([name, text]) =>
    text === '' || ['csrf', 'form', 'do', 'checked', 'confirm'].includes(name) ? [] : [name],
  )

const text = ({ form: sent }: ConsoleRequest, name: string): string => sent.get(name)?.trim() ?? ''

/** Create a version, or change the version of the path. */
const saveVersion = (request: ConsoleRequest): Promise<PageResult> =>
  withPlan(request, async (plan, path) => {
    const { form: sent, ids } = request
    const number = ids[1]
    const stored = plan.versions.find(({ version }) => String(version) === number)
    if (number !== undefined && stored === undefined)
      return problem('Version', 404, { code: 'not_found', message: 'The plan has no such version.', field: null })
    const title = stored === undefined ? `New version of ${plan.name}` : `Edit version ${number} of ${plan.name}`
    const action = stored === undefined ? `${path}/versions/new` : `${path}/versions/${number}/edit`
    const last = stored ?? plan.versions.at(-1)
    const first = last === undefined ? firstPrices : storedPrices(last)
    if (first === null) return problem(title, 400, tooLargePrices)
    const isSent = sent.has('csrf')
    const from = isSent ? text(request, 'from') : (stored?.from ?? '')
    const prices = isSent ? withMore(sentPrices(sent), text(request, 'do')) : first
    const show = (fault: Fault | null): PageView => {
      const options = { type: 'date', value: from, fault, hint: 'In the local time of each location' }
      const inputs = stored !== undefined && stored.from === null ? null : field('from', 'First day', options)
      return pricesPage(request, { title, action, back: path, button: 'Check changes', inputs }, prices, fault)
    }
    if (!isSent || text(request, 'do') !== '') return show(null)
    const read = readPrices(prices)
    if (!read.ok) return show(read.fault)
    const operation: Operation = stored === undefined ? planVersionCreate : planVersionUpdate
    const result = await checkedChange(request, {
      action,
      back: path,
      title,
      button: 'Save version',
      typed: null,
      fields: filledInputs(sent),
      operation,
      parameters: { id: plan.id, version: number },
      body: { ...read.body, ...(from === '' || from === stored?.from ? {} : { from }) },
      effects: html`<p>The version applies from ${from === '' ? 'the beginning' : from} until the next version. The tariffs and charges of the
locations follow.</p>${pricesPicture(prices, plan.currency_code)}`,
    })
    if (isPage(result)) return result
    return result.ok ? { to: `${path}?done=saved` } : show(result.fault)
  })

/** Create a plan with its first version. */
const createPlan = async (request: ConsoleRequest): Promise<PageResult> => {
  const { form: sent, call } = request
  const isSent = sent.has('csrf')
  const [name, currency] = [text(request, 'name'), text(request, 'currency_code')]
  const prices = isSent ? withMore(sentPrices(sent), text(request, 'do')) : firstPrices
  const page = { title: 'Create plan', action: '/console/plans/new', back: '/console/plans', button: 'Create plan' }
  const show = (fault: Fault | null): PageView => {
    const inputs = html`<div class="filter">${field('name', 'Name', { value: name, required: true, fault })}
${field('currency_code', 'Currency', { value: currency, required: true, fault, hint: 'Such as EUR' })}</div>
<p class="hint">The prices become version 1, which applies from the beginning.</p>`
    return pricesPage(request, { ...page, inputs }, prices, fault)
  }
  if (!isSent || text(request, 'do') !== '') return show(null)
  const read = readPrices(prices)
  if (!read.ok) return show(read.fault)
  const created = await call(planCreate, {}, { name, currency_code: currency, ...read.body })
  return created.ok ? { to: `/console/plans/${created.value.id}?done=created` } : show(created.fault)
}

const deleteVersion = (request: ConsoleRequest): Promise<PageResult> =>
  withPlan(request, async (plan, path) => {
    const number = request.ids[1]
    const title = `Delete version ${number} of ${plan.name}`
    const result = await checkedChange(request, {
      operation: planVersionDelete,
      parameters: { id: plan.id, version: number },
      title,
      back: path,
      action: `${path}/versions/${number}/delete`,
      button: 'Delete version',
      typed: plan.name,
      fields: [],
      effects: html`<p>The version before it applies instead, from its first day on.</p>`,
    })
    if (isPage(result)) return result
    return result.ok ? { to: `${path}?done=deleted` } : problem(title, result.status, result.fault)
  })

/** Pages that create a plan, and make, change and delete its versions. */
export const planVersionRoutes: readonly ConsoleRoute[] = [
  getRoute('/console/plans/new', createPlan),
  postRoute('/console/plans/new', createPlan),
  ...planRoute('versions/new', saveVersion),
  ...planRoute('versions/:version/edit', saveVersion),
  ...planRoute('versions/:version/delete', deleteVersion),
]
