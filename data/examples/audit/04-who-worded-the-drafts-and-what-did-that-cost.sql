/* Who worded the drafts, and what did that cost?
   Drafter, model, tokens and US dollars. Rules cost nothing; of a model, revisions of unknown cost are counted. */
select drafter, model, prompt_version, count(*) as revisions,
  sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
  round(sum(if(drafter = 'rules', 0, cost_usd)), 4) as cost_usd,
  count(*) filter (drafter <> 'rules' and cost_usd is null) as cost_unknown
from ledger_drafts group by all order by revisions desc, drafter, model, prompt_version;
