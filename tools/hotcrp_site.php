<?php
// For tools/hotcrp_round_trip.py: what a HotCRP site's own pages give its chair. Run in HotCRP's folder:
//   php hotcrp_site.php SITE papers              paper, outcome and submission status, a line for each paper
//   php hotcrp_site.php SITE decisions           id, class and name of each decision
//   php hotcrp_site.php SITE seen                the papers on which an author sees a decision, and which
//   php hotcrp_site.php SITE get/scores EMAIL    a download of the search page, as EMAIL gets it
// SITE is the name of a site among several, or -.

require_once("./src/init.php");
$conf = initialize_conf(null, $argv[1] === "-" ? null : $argv[1]);
if ($argv[2] === "papers") {
    $result = $conf->qe("select paperId, outcome, timeSubmitted, timeWithdrawn from Paper where paperId>0 order by paperId");
    while (($row = $result->fetch_row())) {
        echo join(",", [$row[0], $row[1], $row[3] > 0 ? "withdrawn" : ($row[2] > 0 ? "submitted" : "draft")]), "\n";
    }
} else if ($argv[2] === "decisions") {
    foreach ($conf->decision_set() as $decision) {
        echo join(",", [$decision->id, $decision->category_name(), $decision->name]), "\n";
    }
} else if ($argv[2] === "seen") {
    foreach ($conf->paper_set([]) as $paper) {
        $decision = $paper->viewable_decision($paper->author_user());
        if ($decision->id !== 0) {
            echo $paper->paperId, ",", $decision->name, "\n";
        }
    }
} else {
    $chair = $conf->user_by_email($argv[3]);
    Contact::set_main_user($chair);
    Qrequest::set_main_request($request = (new Qrequest("GET", []))->set_user($chair));
    $request->set_page("search");
    $search = new PaperSearch($chair, ["q" => "", "t" => "all"]);
    $all = new Qrequest("GET", ["p" => join(" ", $search->paper_ids())]);
    ListAction::call($argv[2], $chair, $request, SearchSelection::make($all, $chair));
}
