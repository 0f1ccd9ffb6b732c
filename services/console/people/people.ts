import type { AnswerOf } from '../../contract/operation.ts'
import {
  type UserWire,
  userCreate,
  userDelete,
  userLinkCreate,
  userList,
  userPasswordDelete,
  userProviderLoginDelete,
  userRetrieve,
  userUpdate,
} from '../../contract/users/user.ts'
import { type Content, type Html, html } from '../../web/ui-kit/html.ts'
import type { Fault } from '../api.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute, mayDo, postRoute } from '../console-request.ts'
import { confirmationFault, confirmPage } from '../kit/confirm.ts'
import { dataTable } from '../kit/data-table.ts'
import { form, type PageResult, type PageView } from '../page-frame.ts'
import { choice, errorNotice, facts, field, hasOlderRows, instant, listParameters, pageLinks } from '../page-parts.ts'

type UserWithLink = AnswerOf<typeof userCreate>

const path = '/console/people'

/** Roles with the texts of the choice. */
export const roleTexts: readonly (readonly [UserWire['role'], string])[] = [
  ['read', 'Read: no people, no keys'],
  ['support', 'Support: change objects, except keys, people and endpoints'],
  ['owner', 'Owner: full access'],
]

const problem = (status: number, fault: Fault): PageView => ({
  title: 'People',
  status,
  body: html`<h1>People</h1>${errorNotice(fault)}`,
})

/** Show a link once. A link without an address gets the address of this page. */
export const linkNotice = ({ address, link, link_expires }: UserWithLink, origin: string | null): Html => {
  const whole = link.startsWith('/') && origin !== null ? origin + link : link
  return html`<div class="notice good" role="status"><p>Send this link to ${address} over a safe channel. It works once,
until ${instant(link_expires)}. You cannot view it again.</p>
<p><code class="secret">${whole}</code></p></div>`
}

type Draft = { readonly address: string; readonly role: string; readonly fault: Fault | null }
const emptyDraft: Draft = { address: '', role: 'read', fault: null }

const inviteForm = ({ csrf }: ConsoleRequest, { address, role, fault }: Draft): Html =>
  html`<section aria-labelledby="invite"><h2 id="invite">Invite a person</h2>
${fault !== null && fault.field === null ? errorNotice(fault) : null}
${form(
  csrf,
  path,
  html`${field('address', 'E-mail address', { value: address, type: 'email', required: true, fault })}
${choice('role', 'Role', roleTexts, role)}
<button class="primary" type="submit">Create invitation</button>`,
)}</section>`

const statusText = ({ status }: UserWire): string => (status === 'INVITED' ? 'Invited' : 'Active')

const showPeople = async (
  request: ConsoleRequest,
  notice: Content = null,
  draft: Draft = emptyDraft,
): Promise<PageView> => {
  const users = await request.call(userList, listParameters(request.query))
  if (!users.ok) return problem(users.status, users.fault)
  const people = dataTable(request, {
    id: 'people',
    label: 'People',
    items: users.value.data,
    columns: [
      {
        key: 'address',
        name: 'Address',
        text: ({ address }) => address,
        show: ({ id, address }) => html`<a href="${path}/${id}">${address}</a>`,
      },
      { key: 'role', name: 'Role', text: ({ role }) => role },
      { key: 'status', name: 'Status', text: statusText },
      {
        key: 'time_created',
        name: 'Invited',
        text: ({ time_created }) => time_created,
        show: ({ time_created }) => instant(time_created),
      },
    ],
    hasMore: hasOlderRows(request.query, users.value),
    empty: html`<p>No people yet. Invite the first person below.</p>`,
  })
  const mode = request.session.liveMode ? 'live mode and test mode' : 'test mode only'
  return {
    title: 'People',
    status: draft.fault === null ? 200 : 400,
    tables: [people],
    body: html`<h1>People</h1>${notice}
<p class="lead">People who sign in to this console, in ${mode}. API keys are for machines.</p>
${people.markup}${pageLinks(path, request.query, [], users.value)}
${mayDo(request, userCreate) ? inviteForm(request, draft) : null}`,
  }
}

const invitePerson = async (request: ConsoleRequest): Promise<PageView> => {
  const [address = '', role = ''] = ['address', 'role'].map(name => request.form.get(name)?.trim() ?? '')
  const created = await request.call(userCreate, {}, { address, role })
  return created.ok
    ? showPeople(request, linkNotice(created.value, request.origin))
    : showPeople(request, null, { address, role, fault: created.fault })
}

const roleForm = ({ csrf }: ConsoleRequest, { id, role }: UserWire): Html =>
  html`<section aria-labelledby="role-heading"><h2 id="role-heading">Role</h2>
<p class="hint">A new role ends the sessions of this person.</p>
${form(csrf, `${path}/${id}/role`, html`${choice('role', 'Role', roleTexts, role)}<button type="submit">Change role</button>`)}</section>`

const linkForm = ({ csrf }: ConsoleRequest, { id, status }: UserWire): Html =>
  html`<section aria-labelledby="link-heading"><h2 id="link-heading">Link</h2>
<p class="hint">${status === 'INVITED' ? 'A new invitation ends the invitation before.' : 'The link sets a new password or provider login, and removes the other one.'}</p>
${form(csrf, `${path}/${id}/link`, html`<button type="submit">${status === 'INVITED' ? 'Create new invitation' : 'Create reset link'}</button>`)}</section>`

/** Credentials of a person, each with the page and the operation that remove it. */
const credentials = [
  ['has_password', 'password', 'Password', userPasswordDelete],
  ['has_provider_login', 'provider-login', 'Provider login', userProviderLoginDelete],
] as const

const credentialForms = (request: ConsoleRequest, user: UserWire): Html => {
  const present = credentials.filter(([member]) => user[member])
  const names = present.map(([, , name]) => name)
  return html`<section aria-labelledby="sign-in-heading"><h2 id="sign-in-heading">Sign-in</h2>
<p>${names.length === 0 ? 'No password and no provider login.' : names.join(', ')}</p>
${
  mayDo(request, userPasswordDelete) && present.length > 0
    ? html`<p class="hint">Removing one ends the sessions and the open link of this person.</p>
<div class="actions">${present.map(([, rest, name]) =>
        form(
          request.csrf,
          `${path}/${user.id}/remove-${rest}`,
          html`<button class="danger" type="submit">Remove ${name.toLowerCase()}</button>`,
          'inline',
        ),
      )}</div>`
    : null
}</section>`
}

const removeCredential =
  (operation: (typeof credentials)[number][3]) =>
  async (request: ConsoleRequest): Promise<PageResult> => {
    const [id = ''] = request.ids
    const removed = await request.call(operation, { id })
    return removed.ok
      ? { to: `${path}/${id}?done=saved` }
      : showPerson(request, errorNotice(removed.fault), removed.status)
  }

const retrievePerson = (request: ConsoleRequest) => request.call(userRetrieve, { id: request.ids[0] })

const showPerson = async (request: ConsoleRequest, notice: Content = null, status = 200): Promise<PageView> => {
  const user = await retrievePerson(request)
  if (!user.ok) return problem(user.status, user.fault)
  const { id, address, time_accepted } = user.value
  return {
    title: address,
    status,
    body: html`<h1>${address}</h1>${notice}
${facts(
  ['ID', html`<code>${id}</code>`],
  ['Role', user.value.role],
  ['Status', statusText(user.value)],
  ['Accepted', time_accepted === null ? '–' : instant(time_accepted)],
  ['Actions', html`<a href="/console/audit-log?actor=${id}">Audit log</a>`],
)}
${mayDo(request, userUpdate) ? roleForm(request, user.value) : null}
${credentialForms(request, user.value)}
${mayDo(request, userLinkCreate) ? linkForm(request, user.value) : null}
${mayDo(request, userDelete) ? html`<div class="actions"><a class="button danger" href="${path}/${id}/remove">Remove person</a></div>` : null}`,
  }
}

const changeRole = async (request: ConsoleRequest) => {
  const [id = ''] = request.ids
  const changed = await request.call(userUpdate, { id }, { role: request.form.get('role') ?? '' })
  return changed.ok
    ? { to: `${path}/${id}?done=saved` }
    : showPerson(request, errorNotice(changed.fault), changed.status)
}

const createLink = async (request: ConsoleRequest): Promise<PageView> => {
  const created = await request.call(userLinkCreate, { id: request.ids[0] })
  return created.ok
    ? showPerson(request, linkNotice(created.value, request.origin))
    : showPerson(request, errorNotice(created.fault), created.status)
}

/** Ask for the address of a person, then remove the person. */
const removePerson = async (request: ConsoleRequest) => {
  const user = await retrievePerson(request)
  if (!user.ok) return problem(user.status, user.fault)
  const { id, address } = user.value
  const isSent = request.form.has('confirm')
  let fault = isSent ? confirmationFault(request, address) : null
  if (isSent && fault === null) {
    const removed = await request.call(userDelete, { id })
    if (removed.ok) return { to: `${path}?done=deleted` }
    fault = removed.fault
  }
  return confirmPage(request, {
    title: 'Remove person',
    effects: html`<p>${address} is signed out within 60 s and cannot sign in again. The audit log keeps the entries.</p>`,
    action: `${path}/${id}/remove`,
    button: 'Remove person',
    back: `${path}/${id}`,
    typed: address,
    fault,
  })
}

/**
 * Pages of the people of an account. Only owners open them.
 * Source: docs/rules/users.md #console.
 */
export const peopleRoutes: readonly ConsoleRoute[] = [
  getRoute(path, request => showPeople(request)),
  postRoute(path, invitePerson),
  getRoute(`${path}/:user`, request => showPerson(request)),
  postRoute(`${path}/:user/role`, changeRole),
  postRoute(`${path}/:user/link`, createLink),
  ...credentials.map(([, rest, , operation]) => postRoute(`${path}/:user/remove-${rest}`, removeCredential(operation))),
  getRoute(`${path}/:user/remove`, removePerson),
  postRoute(`${path}/:user/remove`, removePerson),
]
