// What the report's words are called on the page.

export const STATUS = {
  CONTRADICTED: { name: "Contradicted", mark: "✕", means: "the sources say otherwise" },
  NOT_IN_CONTEXT: { name: "Not in the sources", mark: "○", means: "no source carries it" },
  UNVERIFIABLE: { name: "Too vague", mark: "~", means: "it says too little to be judged" },
  UNCHECKED: { name: "Could not check", mark: "?", means: "no verdict, which is not the same as fine" },
  ENTAILED: { name: "Supported", mark: "✓", means: "the sources carry it" },
};

const GAPS = {
  unsupported: "No source carries it",
  partial_support: "Only partly supported",
  phantom_citation: "Cites what does not exist",
  contradicted: "Contradicted",
  over_extrapolation: "Goes beyond its sources",
  evidence_independent: "Likely without evidence",
  known_not_in_sources: "Known, not in the sources",
};

const TYPES = {
  FabricatedFact: "Fabricated fact",
  NonexistentEntity: "Unknown entity",
  WrongAttribute: "Wrong attribute",
  ContradictsFact: "Contradicts a known fact",
  ContradictsPrior: "Contradicts the conversation",
  UnsupportedClaim: "Unsupported claim",
  TemporalError: "Wrong in time",
  LogicalInconsistency: "Contradicts itself",
};

const own = (table, key) => (Object.hasOwn(table, key) ? table[key] : undefined);

export const status = (name) => own(STATUS, name) || { name: String(name), mark: "?", means: "" };
/** A class name only if it is one of ours: a stored report may hold anything. */
export const tone = (name) => (own(STATUS, name) ? name : "UNCHECKED");
export const typeName = (name) => own(GAPS, name) || own(TYPES, name) || String(name).replaceAll("_", " ");

export function label(claim) {
  const gap =
    claim.flagged && claim.gap_type && claim.gap_type !== "contradicted" ? own(GAPS, claim.gap_type) : undefined;
  return gap || status(claim.status).name;
}
