import { callRequest } from '../../contract/call.ts'
import { type Content, type Html, html } from '../../web/ui-kit/html.ts'
import type { Fault } from '../api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute, mayDo, postRoute } from '../console-request.ts'
import { curlBlock } from '../kit/api-requests.ts'
import { checkedChange, dryRunText, isRefused } from '../kit/checked-change.ts'
import { confirmationFault, confirmPage } from '../kit/confirm.ts'
import { dataTable } from '../kit/data-table.ts'
import { locationColumn, newestLocations } from '../kit/location-names.ts'
import { objectLinks } from '../kit/object-name.ts'
import { form, type PageResult, type PageView } from '../page-frame.ts'
import { choice, errorNotice, facts, field, hasOlderRows, listParameters, pageLinks } from '../page-parts.ts'
import { formFields, formText, inputOf, readBody } from './object-form.ts'
import { type Deletion, exampleRequest, type FilterOptions, type FormMember, type ObjectKind } from './object-kind.ts'

type AnyObject = { readonly id: string }

const consolePath = ({ path }: { readonly path: string }, id = ''): string =>
  `/console${path}${id === '' ? '' : `/${id}`}`

const mayChange = (request: ConsoleRequest): boolean => mayDo(request, { access: 'all' })

const problem = (title: string, status: number, fault: Fault): PageView => ({
  title,
  status,
  body: html`<h1>${title}</h1>${errorNotice(fault)}`,
})

const emptyList = <Wire extends AnyObject, Listed extends AnyObject>(
  kind: ObjectKind<Wire, Listed>,
  isFiltered: boolean,
  mayCreate: boolean,
): Content => {
  const { title, name } = kind
  return isFiltered
    ? html`<p>No ${title.toLowerCase()} match the filter.</p>`
    : html`<p>No ${title.toLowerCase()} yet. ${mayCreate ? `Create the first ${name} here, or with this request:` : `This request creates the first ${name}:`}</p>${curlBlock(exampleRequest(kind))}`
}

const filterInput = (name: string, label: string, value: string, options?: FilterOptions): Html =>
  options === undefined ? field(name, label, { value }) : choice(name, label, [['', 'All'], ...options], value)

const showList = async <Wire extends AnyObject, Listed extends AnyObject>(
  kind: ObjectKind<Wire, Listed>,
  request: ConsoleRequest,
): Promise<PageView> => {
  const { call, query } = request
  const names = kind.filters.map(([name]) => name)
  const list = await call(kind.operations.list, listParameters(query, names))
  if (!list.ok) return problem(kind.title, list.status, list.fault)
  const id = kind.path.slice(1)
  const isFiltered = names.some(name => (query.get(name) ?? '') !== '')
  const { locationOf } = kind
  const locations = locationOf === undefined ? [] : [locationColumn(await newestLocations(request), locationOf)]
  const columns = [...kind.columns.slice(0, -1), ...locations, ...kind.columns.slice(-1)]
  const table = dataTable(request, {
    id,
    label: kind.title,
    columns,
    items: list.value.data,
    isCompact: true,
    hasMore: hasOlderRows(query, list.value),
    empty: emptyList(kind, isFiltered, mayChange(request)),
  })
  const retained = [...names, `sort-${id}`]
  return {
    title: kind.title,
    tables: [table],
    body: html`<div class="heading"><h1>${kind.title}</h1>${
      mayChange(request)
        ? html`<a class="button primary" href="${consolePath(kind)}/new">Create ${kind.name}</a>`
        : null
    }</div>
<p class="lead">${kind.lead}</p>
${
  kind.filters.length === 0
    ? null
    : html`<form class="filter" method="get" action="${consolePath(kind)}">
${kind.filters.map(([name, label, options]) => filterInput(name, label, query.get(name) ?? '', options))}
<button class="quiet" type="submit">Filter</button></form>`
}
${table.markup}${pageLinks(consolePath(kind), query, retained, list.value)}`,
  }
}

const actionsOf = <Wire extends AnyObject, Listed extends AnyObject>(
  kind: ObjectKind<Wire, Listed>,
  request: ConsoleRequest,
  object: Wire,
): Content => {
  const path = consolePath(kind, object.id)
  const buttons = (links: readonly (readonly [label: string, href: string])[] = []) =>
    links.map(([label, href]) => html`<a class="button" href="${href}">${label}</a>`)
  const lock = kind.lockedBy?.(object) ?? null
  const changes = mayChange(request)
    ? [
        ...buttons(kind.formsOf?.(object)),
        ...(lock === null ? [] : [html`<p class="hint">${lock}</p>`]),
        lock !== null || kind.editable === undefined ? null : html`<a class="button" href="${path}/edit">Edit</a>`,
        ...(lock === null ? kind.deletions : []).map(
          ({ name, label }) => html`<a class="button danger" href="${path}/${name}">${label}</a>`,
        ),
      ]
    : []
  return html`<div class="actions">${buttons(kind.linksOf?.(object))}${changes}</div>`
}

const showObject = async <Wire extends AnyObject, Listed extends AnyObject>(
  kind: ObjectKind<Wire, Listed>,
  request: ConsoleRequest,
): Promise<PageView> => {
  const found = await request.call(kind.operations.retrieve, { id: request.ids[0] })
  if (!found.ok) return problem(capitalised(kind.name), found.status, found.fault)
  const object = found.value
  const [sections, links] = await Promise.all([
    kind.sections?.(request, object),
    objectLinks(request, kind.linkedIds?.(object) ?? []),
  ])
  return {
    title: kind.nameOf(object),
    tables: sections?.tables ?? [],
    ...(sections?.hasCharts === true ? { hasCharts: true } : {}),
    body: html`<p class="trail"><a href="${consolePath(kind)}">${kind.title}</a></p><h1>${kind.nameOf(object)}</h1>
${facts(['ID', html`<code>${object.id}</code>`], ...kind.factsOf(object, links))}
${actionsOf(kind, request, object)}${sections?.content}`,
  }
}

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

type Draft = {
  readonly textOf: (member: FormMember) => string
  readonly fault: Fault | null
  readonly effects?: Content
}

/** Show a form. An error of a member without an input is above the form. */
const formPage = (
  { csrf }: ConsoleRequest,
  { title, action, back, button }: { readonly [Name in 'title' | 'action' | 'back' | 'button']: string },
  members: readonly FormMember[],
  { textOf, fault, effects = null }: Draft,
): PageView => {
  const atMember = fault !== null && members.some(({ name }) => name === inputOf(fault))
  return {
    title,
    status: fault === null ? 200 : 400,
    body: html`<h1>${title}</h1>${fault === null || atMember ? null : errorNotice(fault)}
${effects === null ? null : html`<div class="lead effects">${effects}</div>`}${form(
  csrf,
  action,
  html`${formFields(members, textOf, fault)}
<div class="actions"><button type="submit">${button}</button><a href="${back}">Cancel</a></div>`,
)}`,
  }
}

const sentValue =
  ({ form: sent }: ConsoleRequest) =>
  ({ name }: FormMember): string =>
    sent.get(name) ?? ''

const createObject = async <Wire extends AnyObject, Listed extends AnyObject>(
  kind: ObjectKind<Wire, Listed>,
  request: ConsoleRequest,
): Promise<PageResult> => {
  const { form: sent, call, query } = request
  const page = {
    title: `Create ${kind.name}`,
    action: `${consolePath(kind)}/new`,
    back: consolePath(kind),
    button: `Create ${kind.name}`,
  }
  const others = kind.members.filter(({ type }) => type !== 'whole').map(({ name }) => name)
  const exampleBody = Object.fromEntries(
    Object.entries({ ...kind.example, ...Object.fromEntries(query) }).filter(([name]) => !others.includes(name)),
  )
  const isWhole = Object.keys(exampleBody).length > 0
  const first = (member: FormMember): string =>
    member.type === 'whole' ? (isWhole ? formText(exampleBody, member) : '') : (query.get(member.name) ?? '')
  if (!sent.has('csrf')) return formPage(request, page, kind.members, { textOf: first, fault: null })
  const again = (fault: Fault) => formPage(request, page, kind.members, { textOf: sentValue(request), fault })
  const read = readBody(sent, kind.members, null)
  if (!read.ok) return again(read.fault)
  const created = await call(kind.operations.create, {}, read.body)
  return created.ok ? { to: `${consolePath(kind, created.value.id)}?done=created` } : again(created.fault)
}

const changeObject = async <Wire extends AnyObject, Listed extends AnyObject>(
  kind: ObjectKind<Wire, Listed>,
  request: ConsoleRequest,
): Promise<PageResult> => {
  const { form: sent, call, ids } = request
  const found = await call(kind.operations.retrieve, { id: ids[0] })
  if (!found.ok) return problem(`Change ${kind.name}`, found.status, found.fault)
  const path = consolePath(kind, found.value.id)
  const before = kind.editable?.(found.value) ?? {}
  const members = kind.changeMembers ?? kind.members.filter(({ isFixed }) => isFixed !== true)
  const page = {
    title: `Edit ${kind.nameOf(found.value)}`,
    action: `${path}/edit`,
    back: path,
    button: kind.hasDryRun === true ? 'Check changes' : 'Save changes',
  }
  const formWith = async (draft: Draft) => {
    const effects = await kind.changeEffects?.(request, found.value)
    return formPage(request, page, members, { ...draft, effects })
  }
  if (!sent.has('csrf')) return formWith({ textOf: member => formText(before, member), fault: null })
  const again = (fault: Fault) => formWith({ textOf: sentValue(request), fault })
  const read = readBody(sent, members, before)
  if (!read.ok) return again(read.fault)
  const parameters = { id: found.value.id }
  const change = { ...page, title: `Change ${kind.nameOf(found.value)}`, button: 'Save changes', typed: null }
  const changed =
    kind.hasDryRun === true
      ? await checkedChange(request, {
          ...change,
          operation: kind.operations.update,
          parameters,
          body: read.body,
          fields: members.map(({ name }) => name),
        })
      : await call(kind.operations.update, parameters, read.body)
  if ('body' in changed) return changed
  if (!changed.ok) return again(changed.fault)
  const former = Object.fromEntries(members.map(member => [member.name, formText(before, member)]))
  return { to: `${path}?done=saved`, undo: { action: `${path}/edit`, fields: former } }
}

const deleteObject = async <Wire extends AnyObject, Listed extends AnyObject>(
  kind: ObjectKind<Wire, Listed>,
  request: ConsoleRequest,
  deletion: Deletion<Wire>,
): Promise<PageResult> => {
  const { form: sent, call, ids } = request
  const found = await call(kind.operations.retrieve, { id: ids[0] })
  if (!found.ok) return problem(`${deletion.label}: ${kind.name}`, found.status, found.fault)
  const [typed, path] = [kind.nameOf(found.value), consolePath(kind, found.value.id)]
  const parameters = { id: found.value.id, ...deletion.parameters }
  let fault = sent.has('confirm') ? confirmationFault(request, typed) : null
  if (sent.has('confirm') && fault === null) {
    const deleted = await call(kind.operations.delete, parameters)
    if (deleted.ok) return { to: `${consolePath(kind)}?done=deleted` }
    fault = deleted.fault
  }
  const effect = kind.hasDryRun === true ? await request.dryRun(kind.operations.delete, parameters) : null
  const wouldBeRefused = effect?.ok === true && isRefused(effect.value)
  return confirmPage(request, {
    title: `${deletion.label}: ${typed}`,
    effects: html`${await deletion.effects(request, found.value)}${effect?.ok === true ? dryRunText(effect.value) : null}
${wouldBeRefused ? null : curlBlock(callRequest(kind.operations.delete, parameters))}`,
    action: `${path}/${deletion.name}`,
    button: deletion.label,
    back: path,
    typed,
    fault,
    isRefused: wouldBeRefused,
  })
}

/** Create the routes of a kind of object. */
export const objectRoutes = <Wire extends AnyObject, Listed extends AnyObject>(
  kind: ObjectKind<Wire, Listed>,
): readonly ConsoleRoute[] => {
  const path = consolePath(kind)
  const both = (rest: string, answer: ConsoleRoute['answer']) => [
    getRoute(`${path}${rest}`, answer),
    postRoute(`${path}${rest}`, answer),
  ]
  return [
    getRoute(path, request => showList(kind, request)),
    ...(kind.members.length === 0 ? [] : both('/new', request => createObject(kind, request))),
    getRoute(`${path}/:id`, request => showObject(kind, request)),
    ...(kind.editable === undefined ? [] : both('/:id/edit', request => changeObject(kind, request))),
    ...kind.deletions.flatMap(deletion =>
      both(`/:id/${deletion.name}`, request => deleteObject(kind, request, deletion)),
    ),
  ]
}
